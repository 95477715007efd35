// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spawnery/spawnery-operator/internal/catalogue"
	"github.com/spawnery/spawnery-operator/internal/rbacaudit"
)

const permissionsHead = `<!-- Generated from internal/rbacaudit/required.go by make docs. -->
# What the manager may do, and why

The account ` + "`spawnery-manager`" + ` has exactly these permissions. They are written
by hand, with their reasons; tests compare them with the roles generated from
the code, in both directions.
`

func permissionsPage() string {
	var page strings.Builder
	page.WriteString(permissionsHead)
	for _, scope := range []struct {
		scope rbacaudit.Scope
		title string
	}{
		{rbacaudit.Cluster, "In every namespace"},
		{rbacaudit.OwnNamespace, "In its own namespace"},
	} {
		fmt.Fprintf(&page, "\n## %s\n\n| group | resource | verbs | why |\n|---|---|---|---|\n", scope.title)
		for _, permission := range rbacaudit.Required() {
			if permission.Scope == scope.scope {
				page.WriteString(permissionRow(permission))
			}
		}
	}
	return page.String()
}

func permissionRow(permission rbacaudit.Permission) string {
	resource := "`" + permission.Resource + "`"
	if len(permission.Names) > 0 {
		resource += " named `" + strings.Join(permission.Names, "`, `") + "`"
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n",
		cmp.Or(permission.Group, "core"), resource, strings.Join(permission.Verbs, ", "), permission.Why)
}

const conditionsHead = `<!-- Generated from internal/catalogue by make docs. -->
# Conditions and their reasons

Every condition carries the generation it was observed at and a message that
says what to do next.
`

func conditionsPage() string {
	var page strings.Builder
	page.WriteString(conditionsHead)
	var kind, condition string
	for _, entry := range catalogue.Conditions() {
		if entry.Kind != kind {
			kind, condition = entry.Kind, ""
			fmt.Fprintf(&page, "\n## %s\n\n| condition | status | reason | meaning |\n|---|---|---|---|\n", kind)
		}
		shown := ""
		if entry.Type != condition {
			condition = entry.Type
			shown = "`" + condition + "`"
		}
		fmt.Fprintf(&page, "| %s | %s | `%s` | %s |\n", shown, entry.Status, entry.Reason, entry.Means)
	}
	return page.String()
}

const eventsHead = `<!-- Generated from internal/catalogue by make docs. -->
# Events

Whatever a group does with one of its members, and whatever plugins of its
servers ask for, is an event of the group, which names the member or the boost
and says why: ` + "`kubectl describe servergroup`" + ` shows them. A condition that changes is an event of its object too: its reason is the
condition's reason, its action the condition's type, and it is a warning where
somebody has to look. [Conditions](conditions.md) lists those. Nothing is told
twice while it stays as it is.

| object | reason | action | meaning |
|---|---|---|---|
`

func eventsPage() string {
	var page strings.Builder
	page.WriteString(eventsHead)
	for _, deed := range catalogue.Deeds() {
		fmt.Fprintf(&page, "| %s | `%s` | `%s` | %s |\n", deed.Kind, deed.Reason, deed.Action, deed.Means)
	}
	return page.String()
}
