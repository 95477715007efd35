// SPDX-License-Identifier: Apache-2.0

package asks

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/allowance"
	"github.com/spawnery/spawnery-operator/internal/children"
	"github.com/spawnery/spawnery-operator/internal/conditions"
)

// readServer returns a server of the network of whoever asks, with its group.
// The answer is for one that is not there.
func (o *Office) readServer(ctx context.Context, by staff, name string) (asker, *agentv1alpha1.CloudAnswer, error) {
	var of asker
	absent := said(agentv1alpha1.Verdict_VERDICT_NOT_FOUND, fmt.Sprintf("there is no server %q in this network", name))
	err := o.Live.Get(ctx, client.ObjectKey{Namespace: by.Proxy.Pod.Namespace, Name: name}, &of.server)
	if apierrors.IsNotFound(err) {
		return of, absent, nil
	}
	if err != nil {
		return of, nil, fmt.Errorf("read server %s: %w", name, err)
	}
	group, gone, err := o.readGroup(ctx, by, of.server.Spec.GroupRef.Name)
	if err != nil {
		return of, nil, err
	}
	if gone != nil || !children.OwnedBy(&of.server, group.UID) {
		return of, absent, nil
	}
	of.group = *group
	return of, nil, nil
}

// retireForStaff has a server take nobody new and go once it is empty.
func (o *Office) retireForStaff(ctx context.Context, by staff, name string) (*agentv1alpha1.CloudAnswer, error) {
	of, absent, err := o.readServer(ctx, by, name)
	if err != nil || absent != nil {
		return absent, err
	}
	wish := allowance.Server{Name: name, Group: of.group.Name, Size: of.size()}
	if denial := wish.RetireByStaff(); denial != nil {
		return o.deniedToStaff(ctx, by, &of.group, "the retirement of "+name, denial), nil
	}
	if phaseOf(&of.server) == allowance.Leaving {
		return said(agentv1alpha1.Verdict_VERDICT_DONE, name+" is on its way out already"), nil
	}
	if err := o.setRetireReason(ctx, &of.server, v1alpha1.RetireRequested); err != nil {
		return nil, err
	}
	o.tellRetirement(ctx, by, of, retired)
	return said(agentv1alpha1.Verdict_VERDICT_DONE, ""), nil
}

// unretireForStaff takes back what staff or a plugin asked for, and nothing that
// the group has decided: it would decide the same again.
func (o *Office) unretireForStaff(ctx context.Context, by staff, name string) (*agentv1alpha1.CloudAnswer, error) {
	of, absent, err := o.readServer(ctx, by, name)
	if err != nil || absent != nil {
		return absent, err
	}
	switch phase := of.server.Status.Phase; {
	case phase == v1alpha1.ServerDraining, phase == v1alpha1.ServerTerminating, phase == v1alpha1.ServerFailed, of.server.DeletionTimestamp != nil:
		return said(agentv1alpha1.Verdict_VERDICT_REFUSED, name+" is going already, and cannot be taken back"), nil
	case of.server.Spec.RetireReason == v1alpha1.RetireNone:
		return said(agentv1alpha1.Verdict_VERDICT_DONE, name+" is not retired"), nil
	case of.server.Spec.RetireReason != v1alpha1.RetireRequested:
		return said(agentv1alpha1.Verdict_VERDICT_REFUSED, fmt.Sprintf(
			"%s is retired by its group (%s), which would do so again", name, of.server.Spec.RetireReason)), nil
	}
	if err := o.setRetireReason(ctx, &of.server, v1alpha1.RetireNone); err != nil {
		return nil, err
	}
	o.tellRetirement(ctx, by, of, takenBack)
	return said(agentv1alpha1.Verdict_VERDICT_DONE, ""), nil
}

func (o *Office) tellRetirement(ctx context.Context, by staff, of asker, deed conditions.Deed) {
	part := partOf(&of.server, fmt.Sprintf("staff{%s}", by.Cloud.GetBy().GetName()))
	deed.TellOf(ctx, o.Events, &of.group, part, by.name()+" asked for that in the game")
}
