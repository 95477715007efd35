// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"os"
	"path/filepath"
	"testing"
)

func TestARunOfTheGameIsKnownByTheSocketItListensOn(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	line := func(local, state, inode string) string {
		return "   0: " + local + " 00000000:0000 " + state + " 00000000:00000000 00:00000000 00000000  1000        0 " + inode + " 1 0 100 0 0 10 0\n"
	}
	tests := map[string]struct {
		tcp, tcp6, want string
	}{
		"nothing listens":                {},
		"it listens on every address":    {tcp: line("00000000:63DD", "0A", "71"), want: "71"},
		"it listens on the loopback":     {tcp: line("0100007F:63DD", "0A", "72"), want: "72"},
		"as Java does":                   {tcp6: line("00000000000000000000000000000000:63DD", "0A", "73"), want: "73"},
		"as Java does on one address":    {tcp6: line("0000000000000000FFFF00000100007F:63DD", "0A", "74"), want: "74"},
		"another port":                   {tcp: line("00000000:63DE", "0A", "75")},
		"another address":                {tcp: line("0200007F:63DD", "0A", "76")},
		"a player's connection is older": {tcp: line("0100007F:63DD", "01", "77") + line("0100007F:63DD", "0A", "78"), want: "78"},
		"a line that makes no sense":     {tcp: "x y z\n" + line("zz:63DD", "0A", "79") + line("00:63DD", "0A", "79")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range map[string]string{"tcp": test.tcp, "tcp6": test.tcp6} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(head+content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := gameSocket(dir, "127.0.0.1", 25565); got != test.want {
				t.Errorf("the game's socket is %q, want %q", got, test.want)
			}
		})
	}
	if got := gameSocket(t.TempDir(), "127.0.0.1", 25565); got != "" {
		t.Errorf("without the kernel's tables it is %q", got)
	}
}
