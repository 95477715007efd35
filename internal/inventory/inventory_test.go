// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/inventory"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

const namespace = "minecraft"

// now is when every test takes its inventory.
var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// claim is bound and two days old, and its labels are as the operator sets them.
func claim(name string, change ...func(*corev1.PersistentVolumeClaim)) corev1.PersistentVolumeClaim {
	made := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, CreationTimestamp: ago(48 * time.Hour), Labels: podspec.ManagedLabels(),
	}}
	if group, ordinal, named := podspec.OrdinalOfDataClaim(name); named {
		made.Labels[podspec.LabelGroup] = group
		made.Labels[podspec.LabelServer] = podspec.PersistentServerName(group, ordinal)
	}
	made.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	made.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("12Gi")}
	for _, edit := range change {
		edit(&made)
	}
	return made
}

func server(group string, ordinal int32) v1alpha1.Server {
	made := v1alpha1.Server{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: podspec.PersistentServerName(group, ordinal)}}
	made.Spec.GroupRef.Name, made.Spec.Ordinal = group, &ordinal
	return made
}

func group(name string, replicas int32, change ...func(*v1alpha1.ServerGroup)) v1alpha1.ServerGroup {
	made := v1alpha1.ServerGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	made.Spec.Type, made.Spec.Replicas = v1alpha1.GroupPersistent, &replicas
	for _, edit := range change {
		edit(&made)
	}
	return made
}

func ephemeral(g *v1alpha1.ServerGroup) { g.Spec.Type, g.Spec.Replicas = v1alpha1.GroupEphemeral, nil }

func copying(claim string) func(*v1alpha1.ServerGroup) {
	return func(g *v1alpha1.ServerGroup) {
		g.Spec.Server.Template = append(g.Spec.Server.Template,
			v1alpha1.TemplateLayer{PersistentVolumeClaim: v1alpha1.LocalReference{Name: claim}})
	}
}

func condition(kind string, status metav1.ConditionStatus, message string) func(*v1alpha1.ServerGroup) {
	return func(g *v1alpha1.ServerGroup) {
		g.Status.Conditions = append(g.Status.Conditions, metav1.Condition{Type: kind, Status: status, Message: message})
	}
}

func deleted(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = new(ago(time.Minute)) }

func label(key, value string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Labels[key] = value }
}

func onlyOurs(c *corev1.PersistentVolumeClaim) { c.Labels = podspec.ManagedLabels() }

func TestEveryClaimHasOneAnswer(t *testing.T) {
	type verdict struct {
		State   inventory.State
		Group   string
		Ordinal int32
		Why     string
	}
	const (
		two    = "ServerGroup survival has replicas 2"
		noTwo  = two + " and no Server survival-1"
		nobody = "no server mounts a claim of this name"
	)
	tests := map[string]struct {
		claim   corev1.PersistentVolumeClaim
		servers []v1alpha1.Server
		groups  []v1alpha1.ServerGroup
		want    verdict
	}{
		"its Server stands": {
			claim("survival-1-data"),
			[]v1alpha1.Server{server("survival", 1)},
			[]v1alpha1.ServerGroup{group("survival", 2)},
			verdict{inventory.InService, "survival", 1, "Server survival-1"},
		},
		"its Server drains after replicas were lowered": {
			claim("survival-5-data"),
			[]v1alpha1.Server{server("survival", 5)},
			[]v1alpha1.ServerGroup{group("survival", 2)},
			verdict{inventory.InService, "survival", 5, "Server survival-5"},
		},
		"its Server outlives its group": {
			claim("survival-1-data"),
			[]v1alpha1.Server{server("survival", 1)},
			nil,
			verdict{inventory.InService, "survival", 1, "Server survival-1"},
		},
		"its ordinal is required": {
			claim("survival-1-data"),
			[]v1alpha1.Server{server("survival", 0)},
			[]v1alpha1.ServerGroup{group("survival", 2)},
			verdict{inventory.Waiting, "survival", 1, noTwo},
		},
		"its ordinal is the first above replicas": {
			claim("survival-2-data"), nil,
			[]v1alpha1.ServerGroup{group("survival", 2)},
			verdict{inventory.Orphaned, "survival", 2, two},
		},
		"a group copies files from it, and its own is gone": {
			claim("survival-0-data"), nil,
			[]v1alpha1.ServerGroup{group("creative", 1, copying("maps"), copying("survival-0-data"))},
			verdict{inventory.InService, "survival", 0, "ServerGroup creative copies files from it, and there is no ServerGroup survival"},
		},
		"a group copies files from it, and its own requires it": {
			claim("survival-1-data"), nil,
			[]v1alpha1.ServerGroup{group("survival", 2), group("creative", 1, copying("survival-1-data"))},
			verdict{inventory.Waiting, "survival", 1, noTwo},
		},
		"its group is held at none": {
			claim("survival-0-data"), nil,
			[]v1alpha1.ServerGroup{group("survival", 0)},
			verdict{inventory.Orphaned, "survival", 0, "ServerGroup survival has replicas 0"},
		},
		"its group is gone": {
			claim("survival-0-data"), nil,
			[]v1alpha1.ServerGroup{group("creative", 2)},
			verdict{inventory.Orphaned, "survival", 0, "there is no ServerGroup survival"},
		},
		"its group was made again as an ephemeral one": {
			claim("survival-0-data"), nil,
			[]v1alpha1.ServerGroup{group("survival", 2, ephemeral)},
			verdict{inventory.Orphaned, "survival", 0, "ServerGroup survival is not Persistent"},
		},
		"an ephemeral server has drawn the name of its ordinal": {
			claim("survival-2345-data"),
			[]v1alpha1.Server{func() v1alpha1.Server {
				drawn := server("survival", 2345)
				drawn.Spec.Ordinal = nil
				return drawn
			}()},
			[]v1alpha1.ServerGroup{group("survival", 2, ephemeral)},
			verdict{inventory.Orphaned, "survival", 2345, "ServerGroup survival is not Persistent"},
		},
		"its group is being deleted": {
			claim("survival-1-data"), nil,
			[]v1alpha1.ServerGroup{group("survival", 2, func(g *v1alpha1.ServerGroup) { g.DeletionTimestamp = new(ago(time.Minute)) })},
			verdict{inventory.Waiting, "survival", 1, noTwo},
		},
		"a group and a Server of its names are in another namespace": {
			claim("survival-1-data", func(c *corev1.PersistentVolumeClaim) { c.Namespace = "elsewhere" }),
			[]v1alpha1.Server{server("survival", 1)},
			[]v1alpha1.ServerGroup{group("survival", 2)},
			verdict{inventory.Orphaned, "survival", 1, "there is no ServerGroup survival"},
		},
		"somebody deleted it under its Server": {
			claim("survival-1-data", deleted),
			[]v1alpha1.Server{server("survival", 1)},
			[]v1alpha1.ServerGroup{group("survival", 2)},
			verdict{inventory.BeingDeleted, "survival", 1, "somebody deleted it; it goes when no pod uses it"},
		},
		"somebody deleted it, an orphan": {
			claim("survival-2-data", deleted), nil,
			[]v1alpha1.ServerGroup{group("survival", 2)},
			verdict{inventory.BeingDeleted, "survival", 2, "somebody deleted it; it goes when no pod uses it"},
		},
		"all labels but the operator's are missing": {
			claim("survival-2-data", onlyOurs), nil,
			[]v1alpha1.ServerGroup{group("survival", 2)},
			verdict{inventory.Orphaned, "survival", 2, two},
		},
		"all labels but the operator's are missing, and its Server stands": {
			claim("survival-1-data", onlyOurs),
			[]v1alpha1.Server{server("survival", 1)},
			[]v1alpha1.ServerGroup{group("survival", 2)},
			verdict{inventory.InService, "survival", 1, "Server survival-1"},
		},
		"its labels name another group that is gone": {
			claim("survival-1-data", label(podspec.LabelGroup, "gone"), label(podspec.LabelServer, "gone-9")),
			[]v1alpha1.Server{server("survival", 1)},
			[]v1alpha1.ServerGroup{group("survival", 2)},
			verdict{inventory.InService, "survival", 1, "Server survival-1"},
		},
		"its labels name a Server that stands": {
			claim("survival-5-data", label(podspec.LabelServer, "survival-1")),
			[]v1alpha1.Server{server("survival", 1)},
			[]v1alpha1.ServerGroup{group("survival", 2)},
			verdict{inventory.Orphaned, "survival", 5, two},
		},
		"its group's name ends in a number": {
			claim("survival-2-0-data"), nil,
			[]v1alpha1.ServerGroup{group("survival", 3), group("survival-2", 1)},
			verdict{inventory.Waiting, "survival-2", 0, "ServerGroup survival-2 has replicas 1 and no Server survival-2-0"},
		},
		"the group before the number is another": {
			claim("survival-2-0-data"),
			[]v1alpha1.Server{server("survival", 2)},
			[]v1alpha1.ServerGroup{group("survival", 3)},
			verdict{inventory.Orphaned, "survival-2", 0, "there is no ServerGroup survival-2"},
		},
		"its group's name has two dashes": {
			claim("a--b-0-data"),
			[]v1alpha1.Server{server("a--b", 0)},
			[]v1alpha1.ServerGroup{group("a--b", 1)},
			verdict{inventory.InService, "a--b", 0, "Server a--b-0"},
		},
		"a person's own claim that was given the label": {
			claim("backup"), nil,
			[]v1alpha1.ServerGroup{group("survival", 2)},
			verdict{inventory.Unrelated, "", -1, nobody},
		},
		"its ordinal has a leading zero": {
			claim("survival-01-data"), nil,
			[]v1alpha1.ServerGroup{group("survival", 1)},
			verdict{inventory.Unrelated, "", -1, nobody},
		},
		"its labels claim an ordinal that its name has not": {
			claim("survival-data", label(podspec.LabelGroup, "survival"), label(podspec.LabelServer, "survival-7")),
			nil,
			[]v1alpha1.ServerGroup{group("survival", 2)},
			verdict{inventory.Unrelated, "", -1, nobody},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			taken := inventory.Take(inventory.Input{
				Claims: []corev1.PersistentVolumeClaim{test.claim}, Servers: test.servers, Groups: test.groups,
			})
			if len(taken.Claims) != 1 {
				t.Fatalf("%d claims", len(taken.Claims))
			}
			got := taken.Claims[0]
			if diff := cmp.Diff(test.want, verdict{got.State, got.Group, got.Ordinal, got.Why}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAClaimWithoutTheOperatorsLabelIsNobodysBusiness(t *testing.T) {
	for name, labels := range map[string]map[string]string{
		"no labels": nil, "another manager": {podspec.LabelManagedBy: "helm"}, "only the group": {podspec.LabelGroup: "survival"},
	} {
		t.Run(name, func(t *testing.T) {
			theirs := claim("survival-1-data", func(c *corev1.PersistentVolumeClaim) { c.Labels = labels })
			taken := inventory.Take(inventory.Input{
				Claims: []corev1.PersistentVolumeClaim{theirs}, Groups: []v1alpha1.ServerGroup{group("survival", 2)},
			})
			if len(taken.Claims) != 0 {
				t.Errorf("it is listed: %+v", taken.Claims)
			}
			if len(taken.Waits) != 2 || taken.Waits[1].Claim != "" {
				t.Errorf("it is taken for the claim of an ordinal: %+v", taken.Waits)
			}
		})
	}
}

func TestAWaitingOrdinalSaysWhy(t *testing.T) {
	failed := func(n int32) func(*v1alpha1.ServerGroup) {
		return func(g *v1alpha1.ServerGroup) {
			g.Status.ConsecutiveFailures, g.Status.LastFailureAt = &n, new(ago(time.Hour))
		}
	}
	const gaveUp, window, unknown = "6 attempts in a row failed", "the next attempt is at 12:01", "no Network production"
	tests := map[string]struct {
		group  v1alpha1.ServerGroup
		reason inventory.WaitReason
		why    string
	}{
		"given up": {
			group("survival", 1, failed(6), condition(v1alpha1.ConditionDegraded, metav1.ConditionTrue, gaveUp)),
			inventory.GaveUp, gaveUp,
		},
		"in a back-off window": {
			group("survival", 1, failed(2), condition(v1alpha1.ConditionBackingOff, metav1.ConditionTrue, window)),
			inventory.BetweenAttempts, window,
		},
		"between two attempts": {
			group("survival", 1, failed(2), condition(v1alpha1.ConditionBackingOff, metav1.ConditionFalse, "quiet")),
			inventory.BetweenAttempts, "2 failed starts in a row, the last at 2026-11-30T11:00:00Z",
		},
		"without a Network": {
			group("survival", 1, failed(0), condition(v1alpha1.ConditionAccepted, metav1.ConditionFalse, unknown)),
			inventory.NotAccepted, unknown,
		},
		"to be made": {
			group("survival", 1, func(g *v1alpha1.ServerGroup) { g.Status.LastDecision = "replicas 1: create ordinals [0]" }),
			inventory.Due, "not made yet; last decision: replicas 1: create ordinals [0]",
		},
		"without an operator": {
			group("survival", 1),
			inventory.Due, "not made yet, and the operator has not said why: does it run?",
		},
		"on its way out": {
			group("survival", 1, failed(6), func(g *v1alpha1.ServerGroup) { g.DeletionTimestamp = new(ago(time.Minute)) }),
			inventory.GroupLeaving, "the group is being deleted; the claim is an orphan once it is gone",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			taken := inventory.Take(inventory.Input{Groups: []v1alpha1.ServerGroup{test.group}})
			want := []inventory.Wait{{
				Ordinal: inventory.Ordinal{Namespace: namespace, Group: "survival"}, Reason: test.reason, Why: test.why,
			}}
			if diff := cmp.Diff(want, taken.Waits); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestOnlyRequiredOrdinalsWithoutAServerWait(t *testing.T) {
	taken := inventory.Take(inventory.Input{
		Claims:  []corev1.PersistentVolumeClaim{claim("survival-2-data"), claim("survival-7-data"), claim("survival-0-data")},
		Servers: []v1alpha1.Server{server("survival", 0)},
		Groups:  []v1alpha1.ServerGroup{group("survival", 3), group("hub", 0, ephemeral), group("creative", 1)},
	})
	var waits []string
	for _, wait := range taken.Waits {
		waits = append(waits, podspec.PersistentServerName(wait.Group, wait.Ordinal.Ordinal)+"/"+wait.Claim)
	}
	if diff := cmp.Diff([]string{"creative-0/", "survival-1/", "survival-2/survival-2-data"}, waits); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if orphans := taken.Of(inventory.Orphaned); len(orphans) != 1 || orphans[0].Name != "survival-7-data" {
		t.Errorf("orphans: %+v", orphans)
	}
}

func TestUseIsWhatKubernetesSaysOfIt(t *testing.T) {
	told := func(kind corev1.PersistentVolumeClaimConditionType, status corev1.ConditionStatus) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) {
			c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: kind, Status: status, LastTransitionTime: ago(time.Hour)}}
		}
	}
	tests := map[string]struct {
		claim corev1.PersistentVolumeClaim
		want  inventory.Use
	}{
		"unused":            {claim("a-0-data", told(corev1.PersistentVolumeClaimUnused, corev1.ConditionTrue)), inventory.Use{State: inventory.Unused, Since: new(ago(time.Hour))}},
		"in use":            {claim("a-0-data", told(corev1.PersistentVolumeClaimUnused, corev1.ConditionFalse)), inventory.Use{State: inventory.InUse, Since: new(ago(time.Hour))}},
		"unknown":           {claim("a-0-data", told(corev1.PersistentVolumeClaimUnused, corev1.ConditionUnknown)), inventory.Use{State: inventory.UseUnknown}},
		"an older cluster":  {claim("a-0-data"), inventory.Use{State: inventory.UseUnknown}},
		"another condition": {claim("a-0-data", told(corev1.PersistentVolumeClaimResizing, corev1.ConditionTrue)), inventory.Use{State: inventory.UseUnknown}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			taken := inventory.Take(inventory.Input{Claims: []corev1.PersistentVolumeClaim{test.claim}})
			if diff := cmp.Diff(test.want, taken.Claims[0].Use); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestClaimsAreToldInAnOrderThatDoesNotChange(t *testing.T) {
	names := []string{"a-10-data", "a-2-data", "b-0-data", "zz", "b"}
	var forward, backward inventory.Input
	for i := range names {
		forward.Claims = append(forward.Claims, claim(names[i]))
		backward.Claims = append(backward.Claims, claim(names[len(names)-1-i]))
	}
	for _, in := range []inventory.Input{forward, backward} {
		var got []string
		for _, one := range inventory.Take(in).Claims {
			got = append(got, one.Name)
		}
		if diff := cmp.Diff("b zz a-2-data a-10-data b-0-data", strings.Join(got, " ")); diff != "" {
			t.Error(diff)
		}
	}
}
