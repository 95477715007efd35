// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// NoUndelete is what a person knows before a claim is deleted.
const NoUndelete = "Deleting a claim deletes a world, and there is no undelete."

// Listing is an inventory for machines to read. No list is null.
type Listing struct {
	Orphans []Claim `json:"orphans"`
	Waiting []Wait  `json:"waiting"`
	// BeingDeleted and Unrelated are the claims of these states.
	BeingDeleted []Claim `json:"beingDeleted"`
	Unrelated    []Claim `json:"unrelated"`
}

// Listing is everything but what is in service.
func (i *Inventory) Listing() Listing {
	return Listing{
		Orphans:      append([]Claim{}, i.Of(Orphaned)...),
		Waiting:      append([]Wait{}, i.Waits...),
		BeingDeleted: append([]Claim{}, i.Of(BeingDeleted)...),
		Unrelated:    append([]Claim{}, i.Of(Unrelated)...),
	}
}

// Text is the inventory for people. Where says what was looked at: "namespace
// minecraft".
func (i *Inventory) Text(where string, now time.Time) string {
	var text strings.Builder
	if orphans := i.Of(Orphaned); len(orphans) > 0 {
		text.WriteString(claimTable(orphans, now))
		fmt.Fprintf(&text, "\n%s\nThe operator never does it; --commands prints what to type.\n", NoUndelete)
	} else {
		fmt.Fprintf(&text, "no orphans in %s\n", where)
	}
	if len(i.Waits) > 0 {
		text.WriteString("\nWaiting for a server, so no orphans: their groups require them.\n")
		text.WriteString(waitTable(i.Waits))
	}
	if gone := i.Of(BeingDeleted); len(gone) > 0 {
		text.WriteString("\nDeleted by somebody, and not gone yet:\n" + claimTable(gone, now))
	}
	if others := i.Of(Unrelated); len(others) > 0 {
		fmt.Fprintf(&text, "\nNo world's claims, though labelled %s=%s:\n%s", podspec.LabelManagedBy, podspec.ManagedBy, claimTable(others, now))
	}
	return text.String()
}

// Commands are what a person would type to remove each orphan, with the flags
// that reach the same cluster. An orphan that a pod uses gets none.
func (i *Inventory) Commands(where, flags string, now time.Time) string {
	orphans := i.Of(Orphaned)
	if len(orphans) == 0 {
		return fmt.Sprintf("# no orphans in %s\n", where)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# %s\n", NoUndelete)
	for _, claim := range orphans {
		fmt.Fprintf(&text, "\n# %s: %s; %s, %s old, last used: %s\n",
			claim.Name, claim.Why, claim.size(), claim.age(now), claim.Use.text(now))
		if claim.Use.State == InUse {
			text.WriteString("# A pod uses it: find out which one before you remove anything.\n")
			continue
		}
		fmt.Fprintf(&text, "kubectl%s delete pvc %s -n %s\n", flags, claim.Name, claim.Namespace)
	}
	return text.String()
}

func claimTable(claims []Claim, now time.Time) string {
	rows := [][]string{{"NAMESPACE", "CLAIM", "GROUP", "SIZE", "AGE", "LAST USED", "WHY"}}
	for _, claim := range claims {
		group := claim.Group
		if group == "" {
			group = "-"
		}
		rows = append(rows, []string{
			claim.Namespace, claim.Name, group, claim.size(), claim.age(now), claim.Use.text(now), claim.Why,
		})
	}
	return table(rows)
}

func waitTable(waits []Wait) string {
	rows := [][]string{{"NAMESPACE", "SERVER", "CLAIM", "REASON", "WHY"}}
	for _, wait := range waits {
		claim := wait.Claim
		if claim == "" {
			claim = "none yet"
		}
		server := podspec.PersistentServerName(wait.Group, wait.Ordinal.Ordinal)
		rows = append(rows, []string{wait.Namespace, server, claim, string(wait.Reason), wait.Why})
	}
	return table(rows)
}

// table sets columns as kubectl does.
func table(rows [][]string) string {
	var text strings.Builder
	columns := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(columns, strings.Join(row, "\t"))
	}
	_ = columns.Flush()
	return text.String()
}

// size is what is asked for, and what there is.
func (c *Claim) size() string {
	if c.Capacity.IsZero() {
		return c.Requested.String() + "/-"
	}
	return c.Requested.String() + "/" + c.Capacity.String()
}

func (c *Claim) age(now time.Time) string { return duration.HumanDuration(now.Sub(c.Created.Time)) }

func (u Use) text(now time.Time) string {
	switch u.State {
	case InUse:
		return "in use"
	case Unused:
		return duration.HumanDuration(now.Sub(u.Since.Time)) + " ago"
	case UseUnknown:
	}
	return "not known"
}
