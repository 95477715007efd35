// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/children"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

func askPasses() map[string]func(*world) {
	return map[string]func(*world){
		"a server boosts its own group, once":                  boostOnce,
		"a boost that does not fit is refused and told":        boostRefused,
		"a server has so many boosts and no more":              boostsBounded,
		"a server ends what it made and nothing else":          boostEnded,
		"a persistent group is neither boosted nor retired":    persistentAsks,
		"a server that retires itself is replaced":             retiresItself,
		"a server that is hardly ready does not retire itself": retiresTooSoon,
		"a player who is sent elsewhere is told by name":       playerSent,
		"whoever has another pod by now is not listened to":    askOfAnotherPod,
	}
}

const (
	doneVerdict    = agentv1alpha1.Verdict_VERDICT_DONE
	refusedVerdict = agentv1alpha1.Verdict_VERDICT_REFUSED
)

// asks has a plugin of a server ask for something, and returns the answer.
func (w *world) asks(server string, ask *agentv1alpha1.Ask) *agentv1alpha1.Answer {
	w.t.Helper()
	session := w.agents[types.UID(w.serverStatus(server).PodUID)]
	w.Expect(session.Receive(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Ask{Ask: ask}})).To(gomega.Succeed())
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	w.Expect(w.office.CarryOut(ctx)).To(gomega.Succeed())
	for {
		order, err := session.Next(ctx)
		w.Expect(err).NotTo(gomega.HaveOccurred(), "no answer came")
		if answer := order.GetAnswer(); answer != nil {
			w.Expect(answer.GetId()).To(gomega.Equal(ask.GetId()))
			return answer
		}
	}
}

func addBoost(id string, replicas int32, lasts time.Duration) *agentv1alpha1.Ask {
	return &agentv1alpha1.Ask{Id: id, Ask: &agentv1alpha1.Ask_AddBoost{AddBoost: &agentv1alpha1.AddBoost{
		Replicas: replicas, Seconds: int64(lasts / time.Second),
	}}}
}

func endBoost(id, name string) *agentv1alpha1.Ask {
	return &agentv1alpha1.Ask{Id: id, Ask: &agentv1alpha1.Ask_EndBoost{EndBoost: &agentv1alpha1.EndBoost{Name: name}}}
}

func retire(id string) *agentv1alpha1.Ask {
	return &agentv1alpha1.Ask{Id: id, Ask: &agentv1alpha1.Ask_Retire{Retire: &agentv1alpha1.Retire{}}}
}

// oneHub is the only server of the group hub, which may have four.
func (w *world) oneHub() string {
	w.network()
	w.create(hub())
	w.settle(aGroup, "hub")
	name := w.servers()[0].Name
	w.serve(name, 0)
	w.told()
	return name
}

func (w *world) boosts() []v1alpha1.ScaleBoost {
	var list v1alpha1.ScaleBoostList
	w.Expect(w.Client.List(w.t.Context(), &list, client.InNamespace(w.namespace))).To(gomega.Succeed())
	return list.Items
}

func boostOnce(w *world) {
	name := w.oneHub()
	answer := w.asks(name, addBoost("a", 2, 2*time.Hour))
	w.Expect(answer.GetVerdict()).To(gomega.Equal(doneVerdict), answer.GetDetail())
	w.Expect(w.boosts()).To(gomega.HaveLen(1))
	boost := w.boosts()[0]
	w.Expect(children.OwnedBy(&boost, get[v1alpha1.ServerGroup](w, "hub").UID)).To(gomega.BeTrue(), "it goes with its group")
	w.Expect(boost.Labels).To(gomega.HaveKeyWithValue(podspec.LabelServer, name))
	w.Expect(boost.Labels).To(gomega.HaveKeyWithValue(podspec.LabelManagedBy, podspec.ManagedBy))
	w.Expect(boost.Spec.Mode).To(gomega.Equal(v1alpha1.BoostAdd))
	w.Expect(boost.Spec.ExpiresAt.Time).To(gomega.BeTemporally("~", w.clock.Now().Add(2*time.Hour), time.Second))
	w.Expect(answer.GetBoosts()[0].GetName()).To(gomega.Equal(boost.Name))
	w.Expect(w.told()).To(gomega.MatchRegexp("^Normal BoostAdded " + boost.Name + ": a plugin of server " + name + " asked for 2 servers more until [^\n]*$"))

	// Another manager is asked the same.
	w.restart()
	w.report(name, 0)
	again := w.asks(name, addBoost("a", 2, 2*time.Hour))
	w.Expect(again.GetVerdict()).To(gomega.Equal(doneVerdict), again.GetDetail())
	w.Expect(again.GetBoosts()[0].GetName()).To(gomega.Equal(boost.Name))
	w.Expect(w.boosts()).To(gomega.HaveLen(1), "it is the same ask")
	w.Expect(w.told()).NotTo(gomega.ContainSubstring("BoostAdded"))
	w.settle(aGroup, "hub")
	w.Expect(w.groupStatus("hub").BoostedReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(2)))
	w.asks(name, addBoost("b", 1, 0))
	w.Expect(w.boosts()).To(gomega.HaveLen(2), "another ask is another boost")
}

func boostRefused(w *world) {
	name := w.oneHub()
	w.create(&v1alpha1.ScaleBoost{
		ObjectMeta: metav1.ObjectMeta{Name: "friday"},
		Spec:       v1alpha1.ScaleBoostSpec{GroupRef: v1alpha1.GroupReference{Name: "hub"}, Replicas: new(int32(2))},
	})
	answer := w.asks(name, addBoost("a", 2, 0))
	w.Expect(answer.GetVerdict()).To(gomega.Equal(refusedVerdict))
	const why = "2 more than minReplicas 1 and live boosts of 2 are 5 servers, and maxReplicas of hub is 4"
	w.Expect(answer.GetDetail()).To(gomega.Equal(why))
	w.Expect(w.told()).To(gomega.Equal("Normal AskRefused " + name + ": a plugin asked for 2 servers more: " + why))
	answer = w.asks(name, addBoost("b", 1, 8*24*time.Hour))
	w.Expect(answer.GetVerdict()).To(gomega.Equal(agentv1alpha1.Verdict_VERDICT_MALFORMED))
	w.Expect(w.told()).To(gomega.BeEmpty(), "that is between the plugin and its author")
	w.Expect(w.boosts()).To(gomega.HaveLen(1))
}

func boostsBounded(w *world) {
	name := w.oneHub()
	edit(w, "hub", func(g *v1alpha1.ServerGroup) { g.Spec.Scaling.MaxReplicas = 100 })
	for n := range 3 {
		w.Expect(w.asks(name, addBoost(strconv.Itoa(n), 1, time.Hour)).GetVerdict()).To(gomega.Equal(doneVerdict))
	}
	answer := w.asks(name, addBoost("4", 1, 0))
	w.Expect(answer.GetVerdict()).To(gomega.Equal(refusedVerdict))
	w.Expect(answer.GetDetail()).To(gomega.ContainSubstring(name + " has made 3 boosts that still last"))
	w.clock.Step(time.Hour)
	w.Expect(w.asks(name, addBoost("5", 1, 0)).GetVerdict()).To(gomega.Equal(doneVerdict), "those have ended")
}

func boostEnded(w *world) {
	name := w.oneHub()
	w.create(&v1alpha1.ScaleBoost{
		ObjectMeta: metav1.ObjectMeta{Name: "friday", Labels: map[string]string{podspec.LabelServer: name}},
		Spec:       v1alpha1.ScaleBoostSpec{GroupRef: v1alpha1.GroupReference{Name: "hub"}, Replicas: new(int32(1))},
	})
	made := w.asks(name, addBoost("a", 1, 0)).GetBoosts()[0].GetName()
	w.told()
	answer := w.asks(name, endBoost("b", "friday"))
	w.Expect(answer.GetVerdict()).To(gomega.Equal(agentv1alpha1.Verdict_VERDICT_NOT_FOUND), "a person made it")
	answer = w.asks(name, &agentv1alpha1.Ask{Id: "c", Ask: &agentv1alpha1.Ask_ListBoosts{ListBoosts: &agentv1alpha1.ListBoosts{}}})
	w.Expect(answer.GetBoosts()).To(gomega.HaveLen(1))
	answer = w.asks(name, endBoost("d", made))
	w.Expect(answer.GetVerdict()).To(gomega.Equal(doneVerdict))
	w.Expect(answer.GetBoosts()).To(gomega.BeEmpty())
	w.Expect(w.boosts()).To(gomega.HaveLen(1))
	w.Expect(w.told()).To(gomega.Equal("Normal BoostEnded " + made + ": a plugin of server " + name + " ended it"))
}

func persistentAsks(w *world) {
	w.ordinal()
	w.serve("survival-0", 0)
	w.clock.Step(10 * time.Minute)
	for what, ask := range map[string]*agentv1alpha1.Ask{
		"survival is persistent":                         addBoost("a", 1, 0),
		"survival-0 is of the persistent group survival": retire("b"),
	} {
		answer := w.asks("survival-0", ask)
		w.Expect(answer.GetVerdict()).To(gomega.Equal(refusedVerdict))
		w.Expect(answer.GetDetail()).To(gomega.HavePrefix(what))
	}
	w.Expect(w.boosts()).To(gomega.BeEmpty())
	w.Expect(get[v1alpha1.Server](w, "survival-0").Spec.RetireReason).To(gomega.BeEmpty())
}

func retiresItself(w *world) {
	name := w.oneHub()
	w.report(name, 3)
	w.clock.Step(time.Minute)
	w.report(name, 3)
	w.settle(aServer, name)
	w.told()
	answer := w.asks(name, retire("a"))
	w.Expect(answer.GetVerdict()).To(gomega.Equal(doneVerdict), answer.GetDetail())
	w.Expect(w.told()).To(gomega.Equal("Normal ServerRetired " + name + ": a plugin of it asked for that"))
	w.Expect(w.asks(name, retire("b")).GetVerdict()).To(gomega.Equal(doneVerdict), "it is on its way already")
	w.Expect(w.told()).To(gomega.BeEmpty())
	w.settle(aServer, name)
	w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerRetiring))
	w.clock.Step(5 * time.Second)
	w.report(name, 3)
	w.settle(aGroup, "hub")
	w.Expect(w.servers()).To(gomega.HaveLen(2), "another takes its place")
	w.Expect(get[v1alpha1.Server](w, name).DeletionTimestamp).To(gomega.BeNil(), "its players stay")
	w.report(name, 0)
	w.settle(aServer, name)
	w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerTerminating))
}

func retiresTooSoon(w *world) {
	name := w.oneHub()
	w.clock.Step(12 * time.Second)
	answer := w.asks(name, retire("a"))
	w.Expect(answer.GetVerdict()).To(gomega.Equal(refusedVerdict))
	w.Expect(answer.GetDetail()).To(gomega.ContainSubstring("has been ready for"))
	w.Expect(w.told()).To(gomega.HavePrefix("Normal AskRefused " + name + ": a plugin asked for its retirement: "))
	w.Expect(get[v1alpha1.Server](w, name).Spec.RetireReason).To(gomega.BeEmpty())
}

func askOfAnotherPod(w *world) {
	name := w.oneHub()
	old := w.agents[types.UID(w.serverStatus(name).PodUID)]
	lost := get[v1alpha1.Server](w, name)
	lost.Status.PodUID = "another"
	w.Expect(w.Client.Status().Update(w.t.Context(), lost)).To(gomega.Succeed())
	w.agents["another"] = old
	answer := w.asks(name, addBoost("a", 1, 0))
	w.Expect(answer.GetVerdict()).To(gomega.Equal(agentv1alpha1.Verdict_VERDICT_FAILED))
	w.Expect(strings.Contains(answer.GetDetail(), "has another pod by now")).To(gomega.BeTrue(), answer.GetDetail())
	w.Expect(w.boosts()).To(gomega.BeEmpty())
}

func playerSent(w *world) {
	name := w.oneHub()
	w.settle(aNetwork, "production")
	proxy := w.store.OpenProxy(sessions.ProxyPod{
		UID: "p", Pod: types.NamespacedName{Namespace: w.namespace, Name: "front-proxy-a"}, Group: "front", Network: "production",
	}, &agentv1alpha1.Hello{Capabilities: []string{agentv1alpha1.CapabilityConnect}})
	report := &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{{Player: &agentv1alpha1.Player{Name: "Ada"}, Server: name}}}
	w.Expect(proxy.Receive(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_Report{Report: report}})).To(gomega.Succeed())
	go func() {
		for {
			order, err := proxy.Next(w.t.Context())
			if err != nil {
				return
			}
			if connect := order.GetConnect(); connect != nil {
				result := &agentv1alpha1.ConnectResult{Id: connect.GetId(), Verdict: doneVerdict}
				_ = proxy.Receive(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_ConnectResult{ConnectResult: result}})
			}
		}
	}()
	connect := func(id, player string) *agentv1alpha1.Answer {
		return w.asks(name, &agentv1alpha1.Ask{Id: id, Ask: &agentv1alpha1.Ask_Connect{Connect: &agentv1alpha1.Connect{
			Player: &agentv1alpha1.Player{Name: player}, To: "hub",
		}}})
	}
	answer := connect("a", "Ada")
	w.Expect(answer.GetVerdict()).To(gomega.Equal(doneVerdict), answer.GetDetail())
	w.Expect(w.told()).To(gomega.Equal("Normal PlayerSent " + name + ": a plugin sent Ada to hub"))
	w.Expect(connect("b", "Eve").GetVerdict()).To(gomega.Equal(agentv1alpha1.Verdict_VERDICT_NOT_FOUND))
	w.Expect(w.told()).To(gomega.BeEmpty())
}
