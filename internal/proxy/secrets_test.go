// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mctest"
)

func TestSecretsAreReadFromTheirFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"one":                 {map[string]string{"secret": "new\n"}, []string{"new"}},
		"during a rotation":   {map[string]string{"secret": " new ", "previous": "old\n"}, []string{"new", "old"}},
		"an empty one before": {map[string]string{"secret": "new", "previous": "\n"}, []string{"new"}},
		"none":                {map[string]string{"previous": "old"}, nil},
		"an empty one":        {map[string]string{"secret": " \n"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			secrets, err := ReadSecrets(filepath.Join(dir, "secret"))
			var got []string
			for _, s := range secrets {
				got = append(got, string(s))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.want != nil) {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

// While a secret is replaced some servers have the new one and some the old one:
// each is told by a signature that it knows who comes.
func TestDuringARotationPlayersReachServersOfEitherSecret(t *testing.T) {
	for name, secrets := range map[string][]string{
		"new first": {"the next secret", secret},
		"old first": {secret, "the next secret"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			n.add("lobby-a", rig{})
			n.add("survival-0", rig{settings: mctest.Settings{ForwardingSecret: "the next secret"}})
			p := n.front(func(c *Config) { c.Secrets = [][]byte{[]byte(secrets[0]), []byte(secrets[1])} })
			b := n.joined(p, "Ada", "lobby-a")
			for _, to := range []string{"survival-0", "lobby-a"} {
				if err := p.player("Ada").Switch(n.ctx, to); err != nil {
					t.Fatal(err)
				}
				n.on(b, to)
			}
			n.remove("lobby-a")
			n.configure(func(s *agentv1alpha1.ProxySettings) { s.FallbackGroups = []string{"survival"} })
			n.on(n.bot(p, "Ben"), "survival-0")
			if problems := p.report().GetReport().GetForwardingProblems(); len(problems) > 0 {
				t.Errorf("reported: %v", problems)
			}
		})
	}
}

func TestAServerOfAnotherSecretIsJoinedByNobody(t *testing.T) {
	n := newNetwork(t)
	n.settings.HoldSeconds = 0
	stranger := n.add("lobby-a", rig{settings: mctest.Settings{ForwardingSecret: "of another network"}})
	p := n.front()
	n.ends(n.bot(p, "Ada"))
	if got := len(stranger.Players()); got != 0 {
		t.Errorf("%d are on it", got)
	}
}
