// SPDX-License-Identifier: Apache-2.0

package podspec_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// A digest that changes replaces every pod of every owner who upgrades. When
// this test is red, give the new field a default that contributes nothing; if
// pods really must be replaced, raise Epoch, say so in the changelog, and write
// a new file of digests for that release. The files of older releases, and the
// manifests they name, are never edited while their Epoch holds.
func TestDigestsAreThoseOfTheReleases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "digests", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden digests: %v", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			fields := strings.Fields(line)
			if len(fields) != 4 {
				t.Fatalf("%s: %q is not kind, network, group and digest", file, line)
			}
			compare(t, strings.Join(fields, " "), strings.Join(append(fields[:3:3], digestOf(t, fields)), " "))
		}
	}
}

func digestOf(t *testing.T, fields []string) string {
	t.Helper()
	network := load[v1alpha1.Network](t, fields[1])
	switch fields[0] {
	case "ServerGroup":
		return podspec.Digest(podspec.ResolveServer(network, load[v1alpha1.ServerGroup](t, fields[2])))
	case "ProxyGroup":
		return podspec.ProxyDigest(podspec.ResolveProxy(network, load[v1alpha1.ProxyGroup](t, fields[2])))
	}
	t.Fatalf("no kind %s", fields[0])
	return ""
}

// choice is one field of the API, changed.
type choice struct {
	// reaches is true for what a pod is made from; the rest is read at runtime.
	reaches bool
	change  func(network *v1alpha1.Network, group *v1alpha1.ServerGroup)
}

func reaches(change func(*v1alpha1.ServerGroupSpec)) choice {
	return choice{true, func(_ *v1alpha1.Network, group *v1alpha1.ServerGroup) { change(&group.Spec) }}
}

func runtimeOnly(change func(*v1alpha1.ServerGroupSpec)) choice {
	return choice{false, func(_ *v1alpha1.Network, group *v1alpha1.ServerGroup) { change(&group.Spec) }}
}

// serverChoices has every field of a ServerGroup by its path in the manifest.
func serverChoices() map[string]choice {
	return map[string]choice{
		"networkRef":                    runtimeOnly(func(s *v1alpha1.ServerGroupSpec) { s.NetworkRef.Name = "another" }),
		"type":                          runtimeOnly(func(s *v1alpha1.ServerGroupSpec) { s.Type = "Another" }),
		"image":                         reaches(func(s *v1alpha1.ServerGroupSpec) { s.Image += "-changed" }),
		"maxPlayers":                    reaches(func(s *v1alpha1.ServerGroupSpec) { s.MaxPlayers++ }),
		"playableSlots":                 runtimeOnly(func(s *v1alpha1.ServerGroupSpec) { s.PlayableSlots = 3 }),
		"enforcePlayableSlots":          runtimeOnly(func(s *v1alpha1.ServerGroupSpec) { s.EnforcePlayableSlots = new(true) }),
		"displayName":                   runtimeOnly(func(s *v1alpha1.ServerGroupSpec) { s.DisplayName = "Changed" }),
		"joinPermission":                runtimeOnly(func(s *v1alpha1.ServerGroupSpec) { s.JoinPermission.Mode = v1alpha1.JoinRequired }),
		"scaling":                       runtimeOnly(func(s *v1alpha1.ServerGroupSpec) { s.Scaling.MaxReplicas += 5 }),
		"update":                        runtimeOnly(func(s *v1alpha1.ServerGroupSpec) { s.Update.MaxUnavailable = 7 }),
		"replicas":                      runtimeOnly(func(s *v1alpha1.ServerGroupSpec) { s.Replicas = new(int32(7)) }),
		"storage":                       runtimeOnly(func(s *v1alpha1.ServerGroupSpec) { s.Storage.Size = new(resource.MustParse("99Gi")) }),
		"drain":                         runtimeOnly(func(s *v1alpha1.ServerGroupSpec) { s.Drain.TimeoutSeconds = 4321 }),
		"startupDeadlineSeconds":        runtimeOnly(func(s *v1alpha1.ServerGroupSpec) { s.StartupDeadlineSeconds = 4321 }),
		"failedRetentionSeconds":        runtimeOnly(func(s *v1alpha1.ServerGroupSpec) { s.FailedRetentionSeconds = new(int32(0)) }),
		"terminationGracePeriodSeconds": reaches(func(s *v1alpha1.ServerGroupSpec) { s.TerminationGracePeriodSeconds = 4321 }),
		"server.flavor":                 reaches(func(s *v1alpha1.ServerGroupSpec) { s.Server.Flavor = "Changed" }),
		"server.dataDir":                reaches(func(s *v1alpha1.ServerGroupSpec) { s.Server.DataDir = "/changed" }),
		"server.port":                   reaches(func(s *v1alpha1.ServerGroupSpec) { s.Server.Port = 4321 }),
		"server.forwarding":             reaches(func(s *v1alpha1.ServerGroupSpec) { s.Server.Forwarding = "Changed" }),
		"server.acceptEula": reaches(func(s *v1alpha1.ServerGroupSpec) {
			s.Server.AcceptEULA = new(s.Server.AcceptEULA == nil || !*s.Server.AcceptEULA)
		}),
		"server.properties": reaches(func(s *v1alpha1.ServerGroupSpec) { s.Server.Properties = map[string]string{"a": "b"} }),
		"server.template": reaches(func(s *v1alpha1.ServerGroupSpec) {
			s.Server.Template = append(s.Server.Template, v1alpha1.TemplateLayer{FromGameImage: "/changed"})
		}),
		"server.overlayEnv": reaches(func(s *v1alpha1.ServerGroupSpec) { s.Server.OverlayEnv = []string{"CHANGED"} }),
		"server.user":       reaches(func(s *v1alpha1.ServerGroupSpec) { s.Server.User = &v1alpha1.ServerUser{GID: 4321} }),
		"env": reaches(func(s *v1alpha1.ServerGroupSpec) {
			s.Env = append(s.Env, v1alpha1.EnvVar{Name: "CHANGED"})
		}),
		"mounts": reaches(func(s *v1alpha1.ServerGroupSpec) {
			s.Mounts = append(s.Mounts, v1alpha1.Mount{MountPath: "/changed", Secret: v1alpha1.LocalReference{Name: "x"}})
		}),
		"configOverlay": reaches(func(s *v1alpha1.ServerGroupSpec) {
			s.ConfigOverlay = append(s.ConfigOverlay, v1alpha1.ConfigOverlay{ConfigMap: v1alpha1.LocalReference{Name: "changed"}})
		}),
		"ports": reaches(func(s *v1alpha1.ServerGroupSpec) {
			s.Ports = append(s.Ports, v1alpha1.ServerPort{Name: "changed", Port: 4321})
		}),
		"resources": reaches(func(s *v1alpha1.ServerGroupSpec) {
			s.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("13m")}}
		}),
		"scheduling": reaches(func(s *v1alpha1.ServerGroupSpec) {
			s.Scheduling = &v1alpha1.Scheduling{PriorityClassName: "changed"}
		}),
	}
}

func reachesByNetwork(change func(*v1alpha1.Network)) choice {
	return choice{true, func(network *v1alpha1.Network, _ *v1alpha1.ServerGroup) { change(network) }}
}

// networkChoices has every field of a Network by its path in the manifest. The
// group they reach chose nothing itself.
func networkChoices() map[string]choice {
	return map[string]choice{
		"forwardingSecretRef": reachesByNetwork(func(n *v1alpha1.Network) { n.Spec.ForwardingSecretRef.Name = "changed" }),
		"onlineMode":          reachesByNetwork(func(n *v1alpha1.Network) { n.Status.OnlineMode = new(!*n.Status.OnlineMode) }),
		"networkPolicy": {false, func(n *v1alpha1.Network, _ *v1alpha1.ServerGroup) {
			n.Spec.NetworkPolicy = v1alpha1.PolicyDisabled
		}},
		"networkPolicyEgress": {false, func(n *v1alpha1.Network, _ *v1alpha1.ServerGroup) {
			n.Spec.NetworkPolicyEgress = []v1alpha1.EgressRule{{CIDR: "10.0.0.0/8"}}
		}},
		"permissions": {false, func(n *v1alpha1.Network, _ *v1alpha1.ServerGroup) {
			n.Spec.Permissions = []v1alpha1.PermissionGroup{{Name: "changed"}}
		}},
		"defaults.imagePullSecrets": reachesByNetwork(func(n *v1alpha1.Network) {
			defaults(n).ImagePullSecrets = []v1alpha1.LocalReference{{Name: "changed"}}
		}),
		"defaults.resources": reachesByNetwork(func(n *v1alpha1.Network) {
			defaults(n).Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("13m")}}
		}),
		"defaults.scheduling": reachesByNetwork(func(n *v1alpha1.Network) {
			defaults(n).Scheduling = &v1alpha1.Scheduling{NodeSelector: map[string]string{"changed": "true"}}
		}),
		"defaults.user": reachesByNetwork(func(n *v1alpha1.Network) {
			defaults(n).User = &v1alpha1.ServerUser{Policy: v1alpha1.UserFixed, UID: 4321}
		}),
	}
}

func defaults(network *v1alpha1.Network) *v1alpha1.NetworkDefaults {
	if network.Spec.Defaults == nil {
		network.Spec.Defaults = &v1alpha1.NetworkDefaults{}
	}
	return network.Spec.Defaults
}

func TestEveryFieldIsEitherInTheDigestOrReadAtRuntime(t *testing.T) {
	compare(t, fieldsOf[v1alpha1.ServerGroupSpec]("server"), keys(serverChoices()))
	compare(t, fieldsOf[v1alpha1.NetworkSpec]("defaults"), keys(networkChoices()))
}

func TestTheDigestChangesWithWhatReachesAPodAndWithNothingElse(t *testing.T) {
	for _, name := range []string{"lobby", "survival", "modded", "classic"} {
		for path, choice := range serverChoices() {
			t.Run(name+"/"+path, func(t *testing.T) { checkChoice(t, choice, name) })
		}
	}
	for path, choice := range networkChoices() {
		t.Run("network/"+path, func(t *testing.T) { checkChoice(t, choice, "lobby") })
	}
}

func checkChoice(t *testing.T, choice choice, group string) {
	t.Helper()
	network, servers := load[v1alpha1.Network](t, "network"), load[v1alpha1.ServerGroup](t, group)
	before := podspec.Digest(podspec.ResolveServer(network, servers))
	choice.change(network, servers)
	after := podspec.Digest(podspec.ResolveServer(network, servers))
	if changed := before != after; changed != choice.reaches {
		t.Errorf("the digest changed: %t, want %t", changed, choice.reaches)
	}
}

func TestOnlyTheWishForARestartIsReadFromAnnotations(t *testing.T) {
	network, group := load[v1alpha1.Network](t, "network"), load[v1alpha1.ServerGroup](t, "lobby")
	digest := func(annotations map[string]string) string {
		group.Annotations = annotations
		return podspec.Digest(podspec.ResolveServer(network, group))
	}
	plain := digest(nil)
	compare(t, plain, digest(map[string]string{v1alpha1.AnnotationRetry: "now", "example.org/owner": "alice"}))
	compare(t, plain, digest(map[string]string{v1alpha1.AnnotationRestartedAt: ""}))
	first := digest(map[string]string{v1alpha1.AnnotationRestartedAt: "2026-11-30T10:00:00Z"})
	second := digest(map[string]string{v1alpha1.AnnotationRestartedAt: "2026-11-30T11:00:00Z"})
	if first == plain || second == plain || first == second {
		t.Errorf("plain %s, first %s, second %s: want three digests", plain, first, second)
	}
}

func TestAnyNumberOfRuntimeChangesLeavesTheDigestAlone(t *testing.T) {
	all := serverChoices()
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.SampledFrom([]string{"lobby", "survival", "modded", "classic"}).Draw(r, "group")
		paths := rapid.SliceOfNDistinct(rapid.SampledFrom(keys(all)), 0, 5, rapid.ID[string]).Draw(r, "changed")
		network, group := load[v1alpha1.Network](t, "network"), load[v1alpha1.ServerGroup](t, name)
		before := podspec.Digest(podspec.ResolveServer(network, group))
		want := false
		for _, path := range paths {
			all[path].change(network, group)
			want = want || all[path].reaches
		}
		if changed := before != podspec.Digest(podspec.ResolveServer(network, group)); changed != want {
			r.Errorf("%s with %v: the digest changed: %t, want %t", name, paths, changed, want)
		}
	})
}

// proxyChoices has every field of a ProxyGroup; config, routing, drain and the
// rest travel over the channel.
func proxyChoices() map[string]struct {
	reaches bool
	change  func(*v1alpha1.ProxyGroupSpec)
} {
	return map[string]struct {
		reaches bool
		change  func(*v1alpha1.ProxyGroupSpec)
	}{
		"networkRef": {false, func(s *v1alpha1.ProxyGroupSpec) { s.NetworkRef.Name = "another" }},
		"replicas":   {false, func(s *v1alpha1.ProxyGroupSpec) { s.Replicas += 3 }},
		"image":      {true, func(s *v1alpha1.ProxyGroupSpec) { s.Image += "changed" }},
		"expose":     {false, func(s *v1alpha1.ProxyGroupSpec) { s.Expose.NodePort.Port = 31234 }},
		"routing":    {false, func(s *v1alpha1.ProxyGroupSpec) { s.Routing.FallbackGroups = []string{"changed"} }},
		"config": {false, func(s *v1alpha1.ProxyGroupSpec) {
			s.Config.MOTD, s.Config.Favicon.Key = "changed", "changed.png"
			s.Config.Messages.FallbackLocale = "de_de"
		}},
		"drain":  {false, func(s *v1alpha1.ProxyGroupSpec) { s.Drain.TimeoutSeconds = 4321 }},
		"update": {false, func(s *v1alpha1.ProxyGroupSpec) { s.Update.Transfer = v1alpha1.TransferEnabled }},
		"resources": {true, func(s *v1alpha1.ProxyGroupSpec) {
			s.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("13m")}}
		}},
		"scheduling": {true, func(s *v1alpha1.ProxyGroupSpec) {
			s.Scheduling = &v1alpha1.Scheduling{PriorityClassName: "changed"}
		}},
	}
}

func TestAProxysDigestChangesWithWhatReachesItsPodAndWithNothingElse(t *testing.T) {
	compare(t, fieldsOf[v1alpha1.ProxyGroupSpec](""), keys(proxyChoices()))
	for _, name := range []string{"front", "edge"} {
		for path, choice := range proxyChoices() {
			network, group := load[v1alpha1.Network](t, "network"), load[v1alpha1.ProxyGroup](t, name)
			before := podspec.ProxyDigest(podspec.ResolveProxy(network, group))
			choice.change(&group.Spec)
			after := podspec.ProxyDigest(podspec.ResolveProxy(network, group))
			if changed := before != after; changed != choice.reaches {
				t.Errorf("%s/%s: the digest changed: %t, want %t", name, path, changed, choice.reaches)
			}
		}
	}
}

func TestAProxysDigestFollowsTheNamesOfItsConfigMaps(t *testing.T) {
	network, group := load[v1alpha1.Network](t, "network"), load[v1alpha1.ProxyGroup](t, "front")
	met := map[string]string{podspec.ProxyDigest(podspec.ResolveProxy(network, group)): "none"}
	for name, change := range map[string]func(*v1alpha1.ProxyConfig){
		"favicon":   func(c *v1alpha1.ProxyConfig) { c.Favicon.Name = "given" },
		"protocols": func(c *v1alpha1.ProxyConfig) { c.Protocols.Name = "given" },
		"messages":  func(c *v1alpha1.ProxyConfig) { c.Messages.Name = "given" },
		"another":   func(c *v1alpha1.ProxyConfig) { c.Protocols.Name = "others" },
	} {
		changed := group.DeepCopy()
		change(&changed.Spec.Config)
		digest := podspec.ProxyDigest(podspec.ResolveProxy(network, changed))
		if other := met[digest]; other != "" {
			t.Errorf("%s has the digest of %s", name, other)
		}
		met[digest] = name
	}
}

func TestAProxysDigestFollowsItsNetwork(t *testing.T) {
	for path, choice := range networkChoices() {
		network, group := load[v1alpha1.Network](t, "network"), load[v1alpha1.ProxyGroup](t, "front")
		before := podspec.ProxyDigest(podspec.ResolveProxy(network, group))
		choice.change(network, nil)
		after := podspec.ProxyDigest(podspec.ResolveProxy(network, group))
		want := choice.reaches && path != "defaults.user"
		if changed := before != after; changed != want {
			t.Errorf("%s: the digest changed: %t, want %t", path, changed, want)
		}
	}
}

// fieldsOf lists the fields of T as they are written in a manifest, those of
// the one named field by their own paths.
func fieldsOf[T any](nested string) []string {
	var names []string
	for field := range reflect.TypeFor[T]().Fields() {
		name, inner := jsonName(field), field.Type
		if name != nested {
			names = append(names, name)
			continue
		}
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		for below := range inner.Fields() {
			names = append(names, name+"."+jsonName(below))
		}
	}
	slices.Sort(names)
	return names
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

func keys[V any](of map[string]V) []string {
	names := make([]string, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestOnlyAPortOfTheNodeIsPartOfAProxy has one way in that is opened by the pod
// itself; all others are the Service's.
func TestOnlyAPortOfTheNodeIsPartOfAProxy(t *testing.T) {
	network, group := load[v1alpha1.Network](t, "network"), load[v1alpha1.ProxyGroup](t, "gate")
	digest := func(expose v1alpha1.Expose) string {
		group.Spec.Expose = expose
		return podspec.ProxyDigest(podspec.ResolveProxy(network, group))
	}
	port := digest(v1alpha1.Expose{Type: v1alpha1.ExposeHostPort, HostPort: v1alpha1.ExposeByHostPort{Port: 25577}})
	if other := digest(v1alpha1.Expose{Type: v1alpha1.ExposeHostPort, HostPort: v1alpha1.ExposeByHostPort{Port: 25578}}); other == port {
		t.Error("another port of the node leaves the digest as it is")
	}
	balanced := digest(load[v1alpha1.ProxyGroup](t, "balanced").Spec.Expose)
	if balanced == port {
		t.Error("a port of the node contributes nothing")
	}
	compare(t, digest(load[v1alpha1.ProxyGroup](t, "edge").Spec.Expose), balanced)
	compare(t, digest(load[v1alpha1.ProxyGroup](t, "front").Spec.Expose), balanced)
}

func TestProxiesAreRenewedByHandAsServersAre(t *testing.T) {
	network, group := load[v1alpha1.Network](t, "network"), load[v1alpha1.ProxyGroup](t, "front")
	digest := func(at string) string {
		group.Annotations = map[string]string{v1alpha1.AnnotationRestartedAt: at}
		return podspec.ProxyDigest(podspec.ResolveProxy(network, group))
	}
	never, first, second := digest(""), digest("2026-11-30T10:00:00Z"), digest("2026-11-30T11:00:00Z")
	if never == first || first == second {
		t.Error("another value of the annotation leaves the digest as it is")
	}
	group.Annotations = nil
	compare(t, never, podspec.ProxyDigest(podspec.ResolveProxy(network, group)))
}

func TestAnAnnotationThatIsNotChosenAnyMoreIsTakenOff(t *testing.T) {
	group := load[v1alpha1.ProxyGroup](t, "balanced")
	service := podspec.BuildService(group)
	service.Annotations["cloud.example.org/id"] = "42"
	compare(t, podspec.Unchosen(service, podspec.BuildService(group)), []string{})
	delete(group.Spec.Expose.LoadBalancer.Annotations, "metallb.io/address-pool")
	compare(t, podspec.Unchosen(service, podspec.BuildService(group)), []string{"metallb.io/address-pool"})
	group.Spec.Expose = load[v1alpha1.ProxyGroup](t, "edge").Spec.Expose
	compare(t, podspec.Unchosen(service, podspec.BuildService(group)), []string{
		"metallb.io/address-pool", "service.beta.kubernetes.io/aws-load-balancer-type", "spawnery.cloud/chosen-annotations",
	})
	compare(t, podspec.Unchosen(podspec.BuildService(group), podspec.BuildService(group)), nil)
}
