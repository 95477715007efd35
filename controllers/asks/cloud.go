// SPDX-License-Identifier: Apache-2.0

package asks

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/allowance"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// staff is a player who asks for something in the game, by their proxy.
type staff struct {
	sessions.Asked
}

// name is how the player is told in an event.
func (s staff) name() string {
	by := s.Cloud.GetBy()
	if id, err := uuid.FromBytes(by.GetUuid()); err == nil {
		return fmt.Sprintf("%s (%s)", by.GetName(), id)
	}
	return by.GetName()
}

// pod is their proxy, and what they asked of it.
func (s staff) pod(part string) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: s.Proxy.Pod.Namespace, Name: s.Proxy.Pod.Name, UID: s.Proxy.UID,
		FieldPath: fmt.Sprintf("players{%s}.%s", s.Cloud.GetBy().GetName(), part),
	}
}

// answerStaff carries out what somebody wants in the game.
func (o *Office) answerStaff(ctx context.Context, asked sessions.Asked) {
	by := staff{asked}
	bounded, cancel := context.WithTimeout(ctx, answerWithin)
	if asked.Cloud.GetMovePlayers() != nil {
		o.moves.Go(func() {
			defer cancel()
			o.Sessions.AnswerCloud(asked, o.movePlayers(bounded, by))
		})
		return
	}
	defer cancel()
	answer, err := o.decideForStaff(bounded, by)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not carry out what a player asked for",
			"namespace", asked.Proxy.Pod.Namespace, "proxy", asked.Proxy.Pod.Name, "player", asked.Cloud.GetBy().GetName())
		answer = said(agentv1alpha1.Verdict_VERDICT_FAILED, fmt.Sprintf("the manager could not do it, and it may be done all the same: %v", err))
	}
	o.Sessions.AnswerCloud(asked, answer)
}

func (o *Office) decideForStaff(ctx context.Context, by staff) (*agentv1alpha1.CloudAnswer, error) {
	switch ask := by.Cloud.GetAsk().(type) {
	case *agentv1alpha1.CloudAsk_ScaleGroup:
		return o.boostForStaff(ctx, by, ask.ScaleGroup, v1alpha1.BoostExact)
	case *agentv1alpha1.CloudAsk_StartServers:
		return o.boostForStaff(ctx, by, ask.StartServers, v1alpha1.BoostAdd)
	case *agentv1alpha1.CloudAsk_ResetGroup:
		return o.endForStaff(ctx, by, ask.ResetGroup.GetGroup(), v1alpha1.BoostExact)
	case *agentv1alpha1.CloudAsk_StopBoosts:
		return o.endForStaff(ctx, by, ask.StopBoosts.GetGroup(), "")
	case *agentv1alpha1.CloudAsk_RetireServer:
		return o.retireForStaff(ctx, by, ask.RetireServer.GetServer())
	case *agentv1alpha1.CloudAsk_UnretireServer:
		return o.unretireForStaff(ctx, by, ask.UnretireServer.GetServer())
	case *agentv1alpha1.CloudAsk_NamePlayers:
		return o.Players.NamePlayers(by.Asked), nil
	}
	return said(agentv1alpha1.Verdict_VERDICT_MALFORMED, "this manager does not know what is asked for"), nil
}

func said(verdict agentv1alpha1.Verdict, detail string) *agentv1alpha1.CloudAnswer {
	return &agentv1alpha1.CloudAnswer{Verdict: verdict, Detail: detail}
}

// readGroup returns a group of the network of whoever asks. The other answer is
// for one that is not there.
func (o *Office) readGroup(ctx context.Context, by staff, name string) (*v1alpha1.ServerGroup, *agentv1alpha1.CloudAnswer, error) {
	var group v1alpha1.ServerGroup
	err := o.Live.Get(ctx, client.ObjectKey{Namespace: by.Proxy.Pod.Namespace, Name: name}, &group)
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, fmt.Errorf("read group %s: %w", name, err)
	}
	if apierrors.IsNotFound(err) || group.Spec.NetworkRef.Name != by.Proxy.Network {
		return nil, said(agentv1alpha1.Verdict_VERDICT_NOT_FOUND, fmt.Sprintf("there is no group %q in this network", name)), nil
	}
	return &group, nil, nil
}

// deniedToStaff answers what is not granted, and tells of it.
func (o *Office) deniedToStaff(
	ctx context.Context, by staff, group *v1alpha1.ServerGroup, what string, denial *allowance.Denial,
) *agentv1alpha1.CloudAnswer {
	if denial.Cause == allowance.Malformed {
		return said(agentv1alpha1.Verdict_VERDICT_MALFORMED, denial.Why)
	}
	refused.TellOf(ctx, o.Events, group, by.pod(fmt.Sprintf("asks{%s}.refused{%s}", what, denial.Cause)),
		fmt.Sprintf("%s asked for %s in the game: %s", by.name(), what, denial.Why))
	return said(agentv1alpha1.Verdict_VERDICT_REFUSED, denial.Why)
}

// movePlayers has players sent elsewhere, and tells by whom.
func (o *Office) movePlayers(ctx context.Context, by staff) *agentv1alpha1.CloudAnswer {
	answer, moved := o.Players.MovePlayers(ctx, by.Asked)
	if len(moved) == 0 {
		return answer
	}
	// Who was moved is told also when the time for the ask is over.
	telling, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	to := by.Cloud.GetMovePlayers().GetTo()
	group, _, err := o.readGroup(telling, by, o.groupOf(telling, by, to))
	if err != nil || group == nil {
		return answer
	}
	who := called(moved[0])
	if len(moved) > 1 {
		who = fmt.Sprintf("%d players", len(moved))
	}
	sent.TellOf(telling, o.Events, group, by.pod(fmt.Sprintf("sends{%s}.to{%s}", who, to)), fmt.Sprintf("%s sent %s to %s in the game", by.name(), who, to))
	return answer
}

// groupOf is a group, or that of a server.
func (o *Office) groupOf(ctx context.Context, by staff, place string) string {
	var server v1alpha1.Server
	if err := o.Live.Get(ctx, client.ObjectKey{Namespace: by.Proxy.Pod.Namespace, Name: place}, &server); err == nil {
		return server.Spec.GroupRef.Name
	}
	return place
}
