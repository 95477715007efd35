// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

var aNetwork = &v1alpha1.Network{}

func networkPasses() map[string]func(*world) {
	return map[string]func(*world){
		"the loser is accepted within a pass of the end of the winner": loserIsAccepted,
		"the secret is made once and never read":                       secretMadeOnce,
		"pods that wait for their volumes have it made again":          secretMadeAgain,
		"a mode that worlds depend on waits for a word":                modeWaits,
		"the channel's config map is repaired":                         channelRepaired,
		"a foreign config map is refused and told":                     foreignConfigMap,
		"a manager without a certificate waits":                        withoutCertificate,
		"an own secret is not made":                                    ownSecret,
		"a directory that says the same is not sent again":             directoryStands,
	}
}

func (w *world) networkCondition(name, kind string) string {
	w.t.Helper()
	return condition(get[v1alpha1.Network](w, name).Status.Conditions, kind)
}

func loserIsAccepted(w *world) {
	w.network()
	w.create(&v1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "staging"}})
	w.settle(aNetwork, "staging")
	w.Expect(w.networkCondition("staging", "Accepted")).To(gomega.HavePrefix("False DuplicateNetwork: Network production "))
	w.Expect(w.networkCondition("staging", "OnlineModeSettled")).To(gomega.BeEmpty())
	w.Expect(w.gone(&corev1.Secret{}, "staging-forwarding")).To(gomega.BeTrue())
	w.Expect(w.told()).To(gomega.MatchRegexp("Warning DuplicateNetwork [^\n]*production"))
	w.remove(get[v1alpha1.Network](w, "production"))
	w.pass(aNetwork, "staging")
	w.Expect(w.networkCondition("staging", "Accepted")).To(gomega.HavePrefix("True Accepted"))
	w.Expect(w.gone(&corev1.Secret{}, "staging-forwarding")).To(gomega.BeFalse())
}

func secretMadeOnce(w *world) {
	w.network()
	made := get[corev1.Secret](w, "production-forwarding")
	w.Expect(w.networkCondition("production", "ForwardingSecretReady")).To(gomega.HavePrefix("True SecretPresent"))
	w.restart()
	w.settle(aNetwork, "production")
	w.Expect(get[corev1.Secret](w, "production-forwarding").UID).To(gomega.Equal(made.UID), "that it exists is a success")
	w.Expect(w.networkCondition("production", "ForwardingSecretReady")).To(gomega.HavePrefix("True SecretPresent"))
	w.remove(made)
	w.clock.Step(time.Hour)
	w.settle(aNetwork, "production")
	w.Expect(w.gone(made, made.Name)).To(gomega.BeTrue(), "nobody misses it yet")
}

func secretMadeAgain(w *world) {
	w.ordinal()
	w.settle(aServer, "survival-0")
	w.remove(get[corev1.Secret](w, "production-forwarding"))
	w.Expect(w.settle(aNetwork, "production").RequeueAfter).To(gomega.BeZero(), "a pod without a node waits for no volume")
	w.bind(get[corev1.Pod](w, "survival-0"))
	result := w.settle(aNetwork, "production")
	w.Expect(result.RequeueAfter).To(gomega.BeNumerically("~", 40*time.Second, 30*time.Second), "nothing else would wake it")
	w.clock.Step(2 * time.Minute)
	w.settle(aNetwork, "production")
	w.Expect(w.gone(&corev1.Secret{}, "production-forwarding")).To(gomega.BeFalse())
}

func ownSecret(w *world) {
	network := &v1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "production"}}
	network.Spec.ForwardingSecretRef.Name = "mine"
	w.create(network)
	w.settle(aNetwork, "production")
	w.Expect(w.gone(&corev1.Secret{}, "production-forwarding")).To(gomega.BeTrue())
	w.create(survival(1))
	w.settle(aGroup, "survival")
	w.settle(aServer, "survival-0")
	w.bind(get[corev1.Pod](w, "survival-0"))
	w.clock.Step(time.Minute)
	w.settle(aNetwork, "production")
	w.Expect(w.networkCondition("production", "ForwardingSecretReady")).To(gomega.And(
		gomega.HavePrefix("False SecretMissing"), gomega.ContainSubstring("Secret mine")))
	w.run("survival-0")
	w.settle(aNetwork, "production")
	w.Expect(w.networkCondition("production", "ForwardingSecretReady")).To(gomega.HavePrefix("True"))
}

func modeWaits(w *world) {
	w.network()
	edit(w, "production", func(n *v1alpha1.Network) { n.Spec.OnlineMode = new(false) })
	w.settle(aNetwork, "production")
	w.Expect(get[v1alpha1.Network](w, "production").Status.OnlineMode).To(gomega.HaveValue(gomega.BeFalse()), "no world exists")
	w.create(survival(1))
	w.settle(aGroup, "survival")
	w.settle(aServer, "survival-0")
	edit(w, "production", func(n *v1alpha1.Network) { n.Spec.OnlineMode = new(true) })
	w.settle(aNetwork, "production")
	w.Expect(get[v1alpha1.Network](w, "production").Status.OnlineMode).To(gomega.HaveValue(gomega.BeFalse()))
	w.Expect(w.networkCondition("production", "OnlineModeSettled")).To(gomega.And(
		gomega.HavePrefix("False ConfirmationRequired"), gomega.ContainSubstring("survival-0-data"),
		gomega.ContainSubstring(v1alpha1.AnnotationConfirmOnlineMode+"=true")))
	edit(w, "production", func(n *v1alpha1.Network) {
		n.Annotations = map[string]string{v1alpha1.AnnotationConfirmOnlineMode: "true"}
	})
	w.settle(aNetwork, "production")
	w.Expect(get[v1alpha1.Network](w, "production").Status.OnlineMode).To(gomega.HaveValue(gomega.BeTrue()))
	w.Expect(w.networkCondition("production", "OnlineModeSettled")).To(gomega.HavePrefix("True OnlineModeInForce"))
}

func channelRepaired(w *world) {
	w.network()
	edit(w, podspec.ChannelConfigMap, func(c *corev1.ConfigMap) { c.Data = map[string]string{"endpoint": "elsewhere"} })
	w.settle(aNetwork, "production")
	config := get[corev1.ConfigMap](w, podspec.ChannelConfigMap)
	w.Expect(config.Data).To(gomega.HaveKeyWithValue(podspec.ChannelEndpointKey, w.channel.Endpoint))
	w.channel.CA = []byte("other certificates")
	w.settle(aNetwork, "production")
	w.Expect(get[corev1.ConfigMap](w, podspec.ChannelConfigMap).Data).To(
		gomega.HaveKeyWithValue(podspec.ChannelCAKey, "other certificates"))
}

func foreignConfigMap(w *world) {
	w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: podspec.ChannelConfigMap}, Data: map[string]string{"own": "data"}})
	w.create(&v1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "production"}})
	result := w.settle(aNetwork, "production")
	w.Expect(w.networkCondition("production", "NamespacePrepared")).To(gomega.And(
		gomega.HavePrefix("False NamespaceNotPrepared"), gomega.ContainSubstring("config map "+podspec.ChannelConfigMap)))
	w.Expect(get[corev1.ConfigMap](w, podspec.ChannelConfigMap).Data).To(gomega.Equal(map[string]string{"own": "data"}))
	w.Expect(result.RequeueAfter).To(gomega.Equal(30 * time.Second))
	edit(w, podspec.ChannelConfigMap, func(c *corev1.ConfigMap) { c.Labels = podspec.ManagedLabels() })
	w.settle(aNetwork, "production")
	w.Expect(w.networkCondition("production", "NamespacePrepared")).To(gomega.HavePrefix("True"))
}

func withoutCertificate(w *world) {
	w.channel.CA = nil
	w.create(&v1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "production"}})
	w.Expect(w.settle(aNetwork, "production").RequeueAfter).To(gomega.Equal(time.Second))
	w.Expect(w.networkCondition("production", "Accepted")).To(gomega.HavePrefix("True"))
	w.Expect(w.told()).To(gomega.BeEmpty())
}

func directoryStands(w *world) {
	w.front(1, byAddress())
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		group := hub()
		group.Name = name
		w.create(group)
	}
	w.runProxies()
	name := w.proxyNames()[0]
	w.hear(name, 0)
	w.settle(aNetwork, "production")
	w.Expect(w.directories(name)).To(gomega.BeNumerically(">", 0))
	for range 10 {
		w.pass(aNetwork, "production")
	}
	w.clock.Step(time.Second)
	w.Expect(w.directories(name)).To(gomega.BeZero())
}

// directories counts how often the proxy in a pod was sent the directory, or a
// part of it, since the last call.
func (w *world) directories(pod string) int {
	w.t.Helper()
	sent := 0
	for _, order := range w.orders(pod) {
		if order.GetDirectory() != nil {
			sent++
		}
	}
	return sent
}
