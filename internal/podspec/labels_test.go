// SPDX-License-Identifier: Apache-2.0

package podspec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spawnery/spawnery-operator/internal/podspec"
)

func TestSetOccupancyChangesOnlyItsOwnKeys(t *testing.T) {
	theirs := map[string]string{"example.org/theirs": "kept"}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: theirs, Annotations: theirs}}

	if !podspec.SetOccupancy(pod, podspec.Occupied) {
		t.Error("a pod without any mark did not change when it became occupied")
	}
	if podspec.SetOccupancy(pod, podspec.Occupied) {
		t.Error("an occupied pod changed when it became occupied again")
	}
	wantLabels := map[string]string{"example.org/theirs": "kept", "spawnery.cloud/occupied": "true"}
	wantAnnotations := map[string]string{
		"example.org/theirs":                             "kept",
		"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
		"karpenter.sh/do-not-disrupt":                    "true",
	}
	compare(t, wantLabels, pod.Labels)
	compare(t, wantAnnotations, pod.Annotations)
	compare(t, podspec.Occupied, podspec.OccupancyOf(pod))

	if !podspec.SetOccupancy(pod, podspec.Vacant) {
		t.Error("an occupied pod did not change when it became vacant")
	}
	compare(t, map[string]string{"example.org/theirs": "kept"}, pod.Labels)
	wantAnnotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "true"
	delete(wantAnnotations, "karpenter.sh/do-not-disrupt")
	compare(t, wantAnnotations, pod.Annotations)
	compare(t, podspec.Vacant, podspec.OccupancyOf(pod))
	compare(t, map[string]string{"example.org/theirs": "kept"}, theirs)
}

func TestNamesFollowTheirGroup(t *testing.T) {
	first := func(int) int { return 0 }
	last := func(n int) int { return n - 1 }
	tests := map[string]struct{ got, want string }{
		"ephemeral, lowest draw":  {podspec.EphemeralServerName("lobby", first), "lobby-aaaa"},
		"ephemeral, highest draw": {podspec.EphemeralServerName("lobby", last), "lobby-9999"},
		"persistent":              {podspec.PersistentServerName("survival", 12), "survival-12"},
		"claim":                   {podspec.DataClaimName("survival-12"), "survival-12-data"},
		"proxy pod":               {podspec.ProxyPodName("front", first), "front-proxy-aaaa"},
		"proxy service":           {podspec.ProxyServiceName("front"), "front-proxy"},
		"proxy budget":            {podspec.BudgetName(podspec.RoleProxy, "front"), "front-proxy"},
		"server budget":           {podspec.BudgetName(podspec.RoleServer, "lobby"), "lobby-server"},
		"forwarding secret":       {podspec.ForwardingSecretName("production"), "production-forwarding"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { compare(t, test.want, test.got) })
	}
}

func TestAClaimsNameSaysWhoMountsIt(t *testing.T) {
	tests := map[string]struct {
		claim, group string
		ordinal      int32
	}{
		"an ordinal":                       {"survival-0-data", "survival", 0},
		"a high ordinal":                   {"survival-999-data", "survival", 999},
		"a group that ends in a number":    {"survival-2-0-data", "survival-2", 0},
		"a group that is a number":         {"7-1-data", "7", 1},
		"a group with dashes inside":       {"a--b-3-data", "a--b", 3},
		"a group named like a claim":       {"x-0-data-1-data", "x-0-data", 1},
		"the longest group":                {strings.Repeat("g", 40) + "-1-data", strings.Repeat("g", 40), 1},
		"a group longer than one may be":   {claim: strings.Repeat("g", 41) + "-1-data"},
		"a group that would end in a dash": {claim: "a--3-data"},
		"a group with a dot":               {claim: "a.b-3-data"},
		"no ordinal":                       {claim: "survival-data"},
		"no group":                         {claim: "3-data"},
		"a leading zero":                   {claim: "survival-01-data"},
		"a sign":                           {claim: "survival-+1-data"},
		"a number no ordinal can be":       {claim: "survival-4294967296-data"},
		"an ephemeral server's name":       {claim: "lobby-a2b3-data"},
		"another ending":                   {claim: "survival-0-backup"},
		"nothing but the ending":           {claim: "-data"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			group, ordinal, ok := podspec.OrdinalOfDataClaim(test.claim)
			compare(t, test.group != "", ok)
			compare(t, test.group, group)
			compare(t, test.ordinal, ordinal)
			if ok {
				compare(t, test.claim, podspec.DataClaimName(podspec.PersistentServerName(group, ordinal)))
			}
		})
	}
}

func TestDrawnNamesUseTheWholeAlphabetAndNothingElse(t *testing.T) {
	const alphabet = "abcdefghjkmnpqrstuvwxyz23456789"
	for i := range len(alphabet) {
		name := podspec.EphemeralServerName("x", func(n int) int {
			if n != len(alphabet) {
				t.Fatalf("drew from %d letters, want %d", n, len(alphabet))
			}
			return i
		})
		compare(t, "x-"+strings.Repeat(alphabet[i:i+1], 4), name)
	}
}

func TestNamesOfTheLongestGroupAreLabels(t *testing.T) {
	group := strings.Repeat("g", 40)
	last := func(n int) int { return n - 1 }
	server := podspec.PersistentServerName(group, 1<<31-1)
	for _, name := range []string{
		server, podspec.DataClaimName(server), podspec.ProxyPodName(group, last),
		podspec.ProxyServiceName(group), podspec.ForwardingSecretName(group),
		podspec.BudgetName(podspec.RoleServer, group), podspec.EphemeralServerName(group, last),
	} {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

func TestOneGroupsPodsAreNotAnothersOfTheSameName(t *testing.T) {
	server, proxy := podspec.GroupPods(podspec.RoleServer, "main"), podspec.GroupPods(podspec.RoleProxy, "main")
	if cmp.Equal(server, proxy) {
		t.Errorf("a ServerGroup and a ProxyGroup named main select the same pods: %v", server)
	}
}

func compare[T any](t *testing.T, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected (-want +got):\n%s", diff)
	}
}
