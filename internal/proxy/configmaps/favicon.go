// SPDX-License-Identifier: Apache-2.0

package configmaps

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/png"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

const (
	// faviconSide is what clients show, in pixels.
	faviconSide = 64
	// maxFavicon leaves room for the rest in an answer to a server list, of which
	// clients read 32767 characters.
	maxFavicon = 16 << 10

	faviconPart = agentv1alpha1.ConfigPart_CONFIG_PART_FAVICON
)

// picture is the favicon as it was last found.
type picture struct {
	found    mount
	key      string
	url      string
	problems []*agentv1alpha1.ConfigProblem
}

// look reads it again, and reports whether it is another.
func (p *picture) look(dir, key string) bool {
	found := read(dir, "favicon")
	if key == p.key && found.equal(p.found) {
		return false
	}
	*p = picture{found: found, key: key}
	switch broken := whole(faviconPart, found); {
	case !found.there || key == "":
	case broken != nil:
		p.problems = append(p.problems, broken)
	default:
		var reason string
		if p.url, reason = dataURL(found, key); reason != "" {
			p.problems = append(p.problems, problem(faviconPart, key, reason))
		}
	}
	return true
}

// dataURL is the picture as clients take it, or why it is none.
func dataURL(found mount, key string) (string, string) {
	content, there := found.files[key]
	if !there {
		return "", "there is no such key; the ConfigMap has " + listed(sorted(found.files))
	}
	if len(content) > maxFavicon {
		return "", fmt.Sprintf("it has %d bytes, and at most %d are sent to clients; save it smaller", len(content), maxFavicon)
	}
	size, err := png.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return "", "it is no PNG" + asText(content) + "; make the ConfigMap by kubectl create configmap --from-file=" + key + "=FILE"
	}
	if size.Width != faviconSide || size.Height != faviconSide {
		return "", fmt.Sprintf("it is %d by %d pixels, and clients show 64 by 64 alone; scale it", size.Width, size.Height)
	}
	if _, err := png.Decode(bytes.NewReader(content)); err != nil {
		return "", fmt.Sprintf("it is a broken PNG (%v); save it again", err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(content), ""
}

// asText tells a PNG that was pasted as text from another file.
func asText(content []byte) string {
	decoded, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(content)))
	if err == nil && bytes.HasPrefix(decoded, []byte("\x89PNG")) {
		return ", but the text of one in base64, which belongs under binaryData"
	}
	return ""
}
