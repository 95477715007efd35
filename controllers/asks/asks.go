// SPDX-License-Identifier: Apache-2.0

// Package asks carries out what the plugins of servers, and staff in the game,
// ask the manager for. Whose ask it is follows from the session alone, and
// everything is bounded and told as an event.
package asks

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/allowance"
	"github.com/spawnery/spawnery-operator/internal/children"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

const (
	// fieldOwner is the name this controller's writes carry.
	fieldOwner = client.FieldOwner("spawnery-asks")
	// clerks is how many asks are carried out at once.
	clerks = 16
	// answerWithin bounds one ask: the plugin waits 8 seconds.
	answerWithin = 6 * time.Second
)

// Sessions is where the asks come from.
type Sessions interface {
	// NextAsk waits for something to carry out; Answer has to follow, or
	// AnswerCloud where a player wants it.
	NextAsk(ctx context.Context) (sessions.Asked, error)
	// Answer says what became of it.
	Answer(asked sessions.Asked, answer *agentv1alpha1.Answer)
	// AnswerCloud says what became of what a player wants.
	AnswerCloud(asked sessions.Asked, answer *agentv1alpha1.CloudAnswer)
}

// Players are those that the proxies have.
type Players interface {
	// Connect has a proxy move a player, waits for it, and says whom it moved.
	Connect(ctx context.Context, asked sessions.Asked) (*agentv1alpha1.Answer, *agentv1alpha1.Player)
	// MovePlayers has proxies move players, waits for it, and says whom they moved.
	MovePlayers(ctx context.Context, asked sessions.Asked) (*agentv1alpha1.CloudAnswer, []*agentv1alpha1.Player)
	// NamePlayers says who is on which server.
	NamePlayers(asked sessions.Asked) *agentv1alpha1.CloudAnswer
}

// Office carries asks out while this manager leads.
type Office struct {
	Client client.Client
	// Live reads past the cache: bounds are counted on what there is.
	Live     client.Reader
	Sessions Sessions
	Players  Players
	Events   recorder.EventRecorder
	Clock    clock.PassiveClock

	// moves wait for proxies. There are no more of them than servers and proxies
	// may have asks open.
	moves sync.WaitGroup
}

// +kubebuilder:rbac:groups=spawnery.cloud,resources=scaleboosts,verbs=get;list;create;delete
// +kubebuilder:rbac:groups=spawnery.cloud,resources=servers,verbs=get;patch
// +kubebuilder:rbac:groups=spawnery.cloud,resources=servergroups,verbs=get

// NeedLeaderElection says that only the leader has sessions.
func (*Office) NeedLeaderElection() bool { return true }

// Start works until ctx ends.
func (o *Office) Start(ctx context.Context) error {
	var working sync.WaitGroup
	for range clerks {
		working.Go(func() {
			for o.CarryOut(ctx) == nil {
				continue
			}
		})
	}
	working.Wait()
	o.moves.Wait()
	return nil
}

// CarryOut waits for the next ask and answers it; the move of a player, once a
// proxy has. An error means that ctx has ended.
func (o *Office) CarryOut(ctx context.Context) error {
	asked, err := o.Sessions.NextAsk(ctx)
	if err != nil {
		return err
	}
	if asked.Cloud != nil {
		o.answerStaff(ctx, asked)
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, answerWithin)
	by, err := o.observe(bounded, asked)
	if err == nil && asked.Ask.GetConnect() != nil {
		// It takes as long as a game lets players wait: a clerk would be kept
		// from the asks of everybody else.
		o.moves.Go(func() {
			defer cancel()
			o.Sessions.Answer(asked, o.connect(bounded, by, asked))
		})
		return nil
	}
	defer cancel()
	var answer *agentv1alpha1.Answer
	if err == nil {
		answer, err = o.decide(bounded, by, asked)
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not carry out what a plugin asked for",
			"namespace", asked.Pod.Server.Namespace, "server", asked.Pod.Server.Name)
		answer = verdict(agentv1alpha1.Verdict_VERDICT_FAILED, fmt.Sprintf("the manager could not do it, and it may be done all the same: %v", err))
	}
	o.Sessions.Answer(asked, answer)
	return nil
}

// asker is the server that asks and its group, as they are now.
type asker struct {
	id     string
	server v1alpha1.Server
	group  v1alpha1.ServerGroup
}

// observe reads them.
func (o *Office) observe(ctx context.Context, asked sessions.Asked) (asker, error) {
	by := asker{id: asked.Ask.GetId()}
	if err := o.Live.Get(ctx, asked.Pod.Server, &by.server); err != nil {
		return asker{}, fmt.Errorf("read server %s: %w", asked.Pod.Server.Name, err)
	}
	if by.server.Status.PodUID != string(asked.Pod.UID) {
		return asker{}, fmt.Errorf("server %s has another pod by now", by.server.Name)
	}
	group := client.ObjectKey{Namespace: by.server.Namespace, Name: by.server.Spec.GroupRef.Name}
	if err := o.Live.Get(ctx, group, &by.group); err != nil {
		return asker{}, fmt.Errorf("read group %s: %w", group.Name, err)
	}
	if !children.OwnedBy(&by.server, by.group.UID) {
		return asker{}, fmt.Errorf("server %s belongs to another group %s, which is gone", by.server.Name, group.Name)
	}
	return by, nil
}

func (o *Office) decide(ctx context.Context, by asker, asked sessions.Asked) (*agentv1alpha1.Answer, error) {
	switch ask := asked.Ask.GetAsk().(type) {
	case *agentv1alpha1.Ask_AddBoost:
		return o.addBoost(ctx, by, ask.AddBoost)
	case *agentv1alpha1.Ask_ListBoosts:
		return o.listBoosts(ctx, by)
	case *agentv1alpha1.Ask_EndBoost:
		return o.endBoost(ctx, by, ask.EndBoost.GetName())
	case *agentv1alpha1.Ask_Retire:
		return o.retire(ctx, by)
	}
	return verdict(agentv1alpha1.Verdict_VERDICT_MALFORMED, "this manager does not know what is asked for"), nil
}

func verdict(v agentv1alpha1.Verdict, detail string) *agentv1alpha1.Answer {
	return &agentv1alpha1.Answer{Verdict: v, Detail: detail}
}

// denied answers what is not granted. What passes a bound is told; what nobody
// could grant is between the plugin and its author.
func (o *Office) denied(ctx context.Context, by asker, what string, denial *allowance.Denial) *agentv1alpha1.Answer {
	switch denial.Cause {
	case allowance.Malformed:
		return verdict(agentv1alpha1.Verdict_VERDICT_MALFORMED, denial.Why)
	case allowance.Unsuited, allowance.Beyond, allowance.TooMany, allowance.TooSoon:
	}
	refused.TellOf(ctx, o.Events, &by.group, refusing(&by.server, what, denial.Cause), fmt.Sprintf("a plugin asked for %s: %s", what, denial.Why))
	return verdict(agentv1alpha1.Verdict_VERDICT_REFUSED, denial.Why)
}

// connect has a player moved, and tells who was.
func (o *Office) connect(ctx context.Context, by asker, asked sessions.Asked) *agentv1alpha1.Answer {
	answer, moved := o.Players.Connect(ctx, asked)
	if moved != nil {
		player, to := called(moved), asked.Ask.GetConnect().GetTo()
		sent.TellOf(ctx, o.Events, &by.group, sending(&by.server, player, to), fmt.Sprintf("a plugin sent %s to %s", player, to))
	}
	return answer
}

// called is how a player is told in an event.
func called(player *agentv1alpha1.Player) string {
	if id, err := uuid.FromBytes(player.GetUuid()); err == nil && player.GetName() == "" {
		return id.String()
	}
	return player.GetName()
}

// size says who decides how many servers the group has.
func (a asker) size() allowance.Size { return sizeOf(&a.group) }
