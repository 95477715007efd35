// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

const sample = "../../config/samples/lobby.yaml"

func lobby(t *testing.T, replacements ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(text, replacements[i]) {
			t.Fatalf("no %q in the sample", replacements[i])
		}
		text = strings.ReplaceAll(text, replacements[i], replacements[i+1])
	}
	return []byte(text)
}

func TestAGroupIsReadWithTheDefaultsOfTheAPIServer(t *testing.T) {
	group, err := ReadGroup("lobby.yaml", lobby(t), "")
	if err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.ServerGroupSpec{
		NetworkRef: v1alpha1.NetworkReference{Name: "production"},
		Type:       v1alpha1.GroupEphemeral,
		Image:      "ghcr.io/spawnery/purpur:26.3-0.34.0",
		MaxPlayers: 40,
		Scaling: v1alpha1.Scaling{
			MinReplicas: new(int32(1)), MaxReplicas: 8, SpareSlots: new(int32(20)),
			ScaleDownStabilizationSeconds: new(int32(300)), Consolidation: v1alpha1.ConsolidationEnabled,
		},
		Drain:                         v1alpha1.ServerDrain{TimeoutSeconds: 60},
		TerminationGracePeriodSeconds: 60,
		FailedRetentionSeconds:        new(int32(3600)),
		EnforcePlayableSlots:          new(false),
		Server:                        group.Spec.Server,
	}
	if diff := cmp.Diff(want, group.Spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if group.Spec.Server.DataDir != "/data" || group.Spec.Server.Port != 25565 {
		t.Errorf("the defaults of a default are missing: %+v", group.Spec.Server)
	}
}

func TestABadManifestIsRefusedWithFileAndField(t *testing.T) {
	two := string(lobby(t)) + "---\n" + string(lobby(t, "name: lobby", "name: other"))
	for name, row := range map[string]struct {
		content string
		group   string
		want    string
	}{
		"empty":             {"", "", "lobby.yaml: no ServerGroup in it"},
		"no ServerGroup":    {"kind: Network\n", "", "lobby.yaml: no ServerGroup in it"},
		"no object":         {"[1]\n", "", "lobby.yaml: not a Kubernetes object: the document is no map"},
		"no YAML":           {"kind: Network\n---\na: [\n", "", "lobby.yaml: not YAML: line 3: did not find expected node content"},
		"another version":   {string(lobby(t, "v1alpha1", "v9")), "", "lobby.yaml: apiVersion of a ServerGroup is spawnery.cloud/v9; this program knows spawnery.cloud/v1alpha1"},
		"two groups":        {two, "", "lobby.yaml: 2 ServerGroups in it (lobby, other); say which with --group"},
		"no such group":     {two, "hub", `lobby.yaml: no ServerGroup "hub" in it, but lobby, other`},
		"a misspelled name": {string(lobby(t, "spareSlots", "spareSlot")), "", `lobby.yaml: unknown field "spec.scaling.spareSlot"`},
		"a missing number":  {string(lobby(t, "    spareSlots: 20\n", "")), "", "lobby.yaml: spec.scaling.spareSlots is required"},
		"a word":            {string(lobby(t, "maxReplicas: 8", "maxReplicas: eight")), "", `lobby.yaml: spec.scaling.maxReplicas must be of type integer: "string"`},
		"too small":         {string(lobby(t, "maxReplicas: 8", "maxReplicas: 0")), "", "lobby.yaml: spec.scaling.maxReplicas should be greater than or equal to 1"},
		"no such type":      {string(lobby(t, "Ephemeral", "Fleeting")), "", "lobby.yaml: spec.type should be one of [Ephemeral Persistent]"},
		"minimum too large": {string(lobby(t, "minReplicas: 1", "minReplicas: 9")), "", "lobby.yaml: spec.scaling.minReplicas is 9: minReplicas must not exceed maxReplicas, which is 8"},
		"no scaling":        {string(lobby(t, "  scaling:\n    minReplicas: 1\n    maxReplicas: 8\n    spareSlots: 20\n    consolidation: Enabled\n", "")), "", "lobby.yaml: spec.scaling is required for type Ephemeral"},
		"too many playable": {string(lobby(t, "maxPlayers: 40", "maxPlayers: 40\n  playableSlots: 41")), "", "lobby.yaml: spec.playableSlots is 41: playableSlots must not exceed maxPlayers, which is 40"},
		"an update that cannot begin": {
			string(lobby(t, "maxPlayers: 40", "maxPlayers: 40\n  update: {minAvailable: 8}")), "",
			"lobby.yaml: spec.update.minAvailable is 8: update.minAvailable must be less than scaling.maxReplicas, which is 8",
		},
		"a persistent group": {
			string(lobby(t, "Ephemeral", "Persistent")), "",
			"lobby.yaml: spec.type is Persistent: only Ephemeral groups are sized by minReplicas, maxReplicas and spareSlots",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadGroup("lobby.yaml", []byte(row.content), row.group)
			if err == nil || err.Error() != row.want {
				t.Errorf("%v\nwant %s", err, row.want)
			}
		})
	}
	if group, err := ReadGroup("lobby.yaml", []byte(two), "other"); err != nil || group.Name != "other" {
		t.Errorf("group %v: %v", group, err)
	}
}
