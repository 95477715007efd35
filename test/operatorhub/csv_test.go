// SPDX-License-Identifier: Apache-2.0

package operatorhub_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"net/mail"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestAnnotationsSayWhatCatalogsShow(t *testing.T) {
	annotations := load(t).csv.Metadata.Annotations
	patterns := map[string]string{
		// Higher levels are claimed when tests show them.
		"capabilities":   `^Basic Install$`,
		"categories":     `^(Networking|Application Runtime|Developer Tools)$`,
		"certified":      `^false$`,
		"containerImage": `^[a-z0-9.-]+(/[a-z0-9-]+)+@sha256:[0-9a-f]{64}$`,
		"description":    `^.{20,180}$`,
		"repository":     `^https://`,
		"support":        `^https://`,
		"operatorframework.io/suggested-namespace":          `^spawnery-system$`,
		"operators.operatorframework.io/builder":            `^operator-sdk-v1\.`,
		"operators.operatorframework.io/project_layout":     `^go\.kubebuilder\.io/v4$`,
		"features.operators.openshift.io/disconnected":      `^(true|false)$`,
		"features.operators.openshift.io/fips-compliant":    `^(true|false)$`,
		"features.operators.openshift.io/proxy-aware":       `^(true|false)$`,
		"features.operators.openshift.io/tls-profiles":      `^(true|false)$`,
		"features.operators.openshift.io/token-auth-aws":    `^(true|false)$`,
		"features.operators.openshift.io/token-auth-azure":  `^(true|false)$`,
		"features.operators.openshift.io/token-auth-gcp":    `^(true|false)$`,
		"operatorframework.io/suggested-namespace-template": `^\{.*\}$`,
	}
	for key, pattern := range patterns {
		if !regexp.MustCompile(pattern).MatchString(annotations[key]) {
			t.Errorf("%s is %q, want a match of %s", key, annotations[key], pattern)
		}
	}
	if _, err := time.Parse(time.RFC3339, annotations["createdAt"]); err != nil {
		t.Error(err)
	}
}

func TestSuggestedNamespaceIsRestricted(t *testing.T) {
	var namespace corev1.Namespace
	annotations := load(t).csv.Metadata.Annotations
	if err := json.Unmarshal([]byte(annotations["operatorframework.io/suggested-namespace-template"]), &namespace); err != nil {
		t.Fatal(err)
	}
	if namespace.Kind != "Namespace" || namespace.Name != annotations["operatorframework.io/suggested-namespace"] {
		t.Errorf("%s %s", namespace.Kind, namespace.Name)
	}
	for _, mode := range []string{"enforce", "audit", "warn"} {
		if level := namespace.Labels["pod-security.kubernetes.io/"+mode]; level != "restricted" {
			t.Errorf("%s is %q", mode, level)
		}
	}
}

func TestDescriptionHasTheOrderOfOperatorHub(t *testing.T) {
	text := load(t).csv.Spec.Description
	last := -1
	for _, part := range []string{"## A Minecraft network", "](https://www.minecraft.net)", "## What the operator does", "To start,", "## Before you start"} {
		at := strings.Index(text, part)
		if at <= last {
			t.Errorf("%q stands at %d, after something that stands at %d", part, at, last)
		}
		last = at
	}
}

func TestFieldsOfTheTileAreWellFormed(t *testing.T) {
	spec := load(t).csv.Spec
	if n := len(spec.DisplayName); n < 3 || n > 50 {
		t.Errorf("displayName %q", spec.DisplayName)
	}
	if spec.MinKubeVersion != "1.33.0" || spec.Maturity == "" || len(spec.Keywords) == 0 || len(spec.Provider.Name) < 3 {
		t.Errorf("minKubeVersion %q, maturity %q, keywords %q, provider %q", spec.MinKubeVersion, spec.Maturity, spec.Keywords, spec.Provider.Name)
	}
	if spec.Cleanup.Enabled {
		t.Error("removing the operator would remove every Network")
	}
}

func TestLinksAndMaintainersCanBeReached(t *testing.T) {
	spec := load(t).csv.Spec
	if len(spec.Links) == 0 || len(spec.Maintainers) == 0 {
		t.Errorf("%d links, %d maintainers", len(spec.Links), len(spec.Maintainers))
	}
	for _, link := range spec.Links {
		if parsed, err := url.Parse(link.URL); err != nil || parsed.Scheme != "https" || link.Name == "" {
			t.Errorf("link %q %q: %v", link.Name, link.URL, err)
		}
	}
	for _, maintainer := range spec.Maintainers {
		if _, err := mail.ParseAddress(maintainer.Email); err != nil || maintainer.Name == "" {
			t.Errorf("maintainer %q %q: %v", maintainer.Name, maintainer.Email, err)
		}
	}
}

func TestIconIsOneSquareDrawing(t *testing.T) {
	icons := load(t).csv.Spec.Icon
	if len(icons) != 1 || icons[0].Mediatype != "image/svg+xml" {
		t.Fatalf("%d icons, %v", len(icons), icons)
	}
	content, err := base64.StdEncoding.DecodeString(icons[0].Base64data)
	if err != nil {
		t.Fatal(err)
	}
	var svg struct {
		XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
		Width   string   `xml:"width,attr"`
		Height  string   `xml:"height,attr"`
		ViewBox string   `xml:"viewBox,attr"`
	}
	if err := xml.Unmarshal(content, &svg); err != nil {
		t.Fatal(err)
	}
	if svg.Width == "" || svg.Width != svg.Height || svg.ViewBox != "0 0 "+svg.Width+" "+svg.Height {
		t.Errorf("%s by %s, of %q", svg.Width, svg.Height, svg.ViewBox)
	}
	if len(content) > 4096 {
		t.Errorf("%d bytes", len(content))
	}
}

func TestOperatorWatchesEveryNamespace(t *testing.T) {
	got := map[string]bool{}
	for _, mode := range load(t).csv.Spec.InstallModes {
		got[mode.Type] = mode.Supported
	}
	want := map[string]bool{"OwnNamespace": false, "SingleNamespace": false, "MultiNamespace": false, "AllNamespaces": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("install modes (-want +got):\n%s", diff)
	}
}
