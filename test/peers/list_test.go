// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"net"
	"os"
	"path/filepath"
	"testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/proxy"
)

// givePicture puts a picture where the kubelet mounts one.
func givePicture(t *testing.T, dir string) []byte {
	t.Helper()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 64, 64))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "favicon"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "favicon", "icon.png"), picture.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return picture.Bytes()
}

func TestTheirServerListShowsThePictureOfOurProxy(t *testing.T) {
	dir := t.TempDir()
	picture := givePicture(t, dir)
	settings := &agentv1alpha1.ProxySettings{Network: "production", Motd: "<gold>A network", PlayerLimit: 70, FaviconKey: "icon.png"}
	f := startProxy(t, settings, "http://127.0.0.1:1", func(c *proxy.Config) { c.ConfigDir = dir })
	f.publish()
	host, port, err := net.SplitHostPort(f.address)
	if err != nil {
		t.Fatal(err)
	}
	want := Event{Kind: "list", Text: "A network", Max: 70, Protocol: 769, Favicon: "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture)}
	for ctx := testContext(t); ; {
		list, err := StartPing(ctx, host, port, "1.21.4")
		if err != nil {
			t.Fatal(err)
		}
		got := sees(t, list, "list", "")
		switch {
		case got.Favicon == "" && ctx.Err() == nil:
			// The key has not reached the proxy's reader yet.
			continue
		case got.Text != want.Text || got.Max != want.Max || got.Protocol != want.Protocol || got.Favicon != want.Favicon:
			t.Errorf("their list shows %+v, want %+v", got, want)
		}
		return
	}
}
