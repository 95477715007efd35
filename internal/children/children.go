// SPDX-License-Identifier: Apache-2.0

// Package children makes and removes the objects an owner has. Nothing is ever
// adopted: a name that is taken is settled by the owner's UID, read live.
package children

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/refusal"
)

// Verdict says who has a name.
type Verdict int

const (
	// Created means that the object did not exist, and does now.
	Created Verdict = iota
	// Ours means that the object exists and belongs to the same owner.
	Ours
	// NotOurs means that somebody else's object has the name.
	NotOurs
)

// ErrTaken means that somebody else's object has the name of a child.
var ErrTaken = errors.New("the name is taken")

// Ended is how a step ended that wrote a child whose name is given. The reason is
// for a name that is taken, and for what the API server refuses about the child
// itself; both are tried again after recheck, as is every other refusal under a
// reason of its own. An error that a repetition may cure stays one.
func Ended(err error, reason string, recheck time.Duration) outcome.Outcome {
	why := refusal.Of(err)
	switch {
	case errors.Is(err, ErrTaken), why == v1alpha1.ReasonPodRefused:
		return outcome.Wait(recheck, reason, err.Error())
	case why == "":
		return outcome.Of(err)
	}
	return outcome.Wait(recheck, why, err.Error())
}

// Create posts child. When its name is taken, child becomes what has the name,
// read through live and past every cache, and the verdict says whose it is.
// Other errors are the API server's, wrapped.
func Create(ctx context.Context, c client.Writer, live client.Reader, child client.Object) (Verdict, error) {
	owner := metav1.GetControllerOfNoCopy(child)
	err := c.Create(ctx, child)
	if err == nil {
		return Created, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return NotOurs, fmt.Errorf("create %T %s: %w", child, client.ObjectKeyFromObject(child), err)
	}
	if err := live.Get(ctx, client.ObjectKeyFromObject(child), child); err != nil {
		return NotOurs, fmt.Errorf("read %T %s, whose name is taken: %w", child, client.ObjectKeyFromObject(child), err)
	}
	has := metav1.GetControllerOfNoCopy(child)
	if owner != nil && has != nil && owner.UID == has.UID {
		return Ours, nil
	}
	return NotOurs, nil
}

// Drawn is an error that does not tell the name of what could not be made. Such
// a name is drawn anew at each attempt, and the same refusal has to read the
// same, or a status changes with every pass.
func Drawn(err error, name, pattern string) error {
	if err == nil {
		return nil
	}
	return drawn{err, name, pattern}
}

type drawn struct {
	error
	name, pattern string
}

func (d drawn) Error() string { return strings.ReplaceAll(d.error.Error(), d.name, d.pattern) }

func (d drawn) Unwrap() error { return d.error }

// OwnedBy tells whether the object is controlled by the owner with the UID.
func OwnedBy(object metav1.Object, owner types.UID) bool {
	ref := metav1.GetControllerOfNoCopy(object)
	return ref != nil && ref.UID == owner
}

// Delete asks for exactly this object to go, and not for one made again under
// its name. One that is gone already is a success.
func Delete(ctx context.Context, c client.Writer, child client.Object, options ...client.DeleteOption) error {
	uid := child.GetUID()
	options = append(options, client.Preconditions{UID: &uid})
	err := c.Delete(ctx, child, options...)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete %T %s: %w", child, client.ObjectKeyFromObject(child), err)
	}
	return nil
}
