// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

const messagesHead = `<!-- Generated from internal/proxy/messages/messages.json by make docs. -->
# What players read

Everything that a proxy says to players is one of these messages. A client gets the
key, the arguments and the fallback, so a resource pack may translate the key; a
network's own words for it come from the ConfigMap that ` + "`config.messages`" + ` of the
ProxyGroup names: [how](../how-to/speak-the-players-language.md).

In words of yours ` + "`%s`" + ` stands for the arguments in their order, and ` + "`%1$s`" + `,
` + "`%2$s`" + ` for the first and the second. A group is an argument by its
` + "`displayName`" + `. A reason may be a message itself, or what a server said.

| key | arguments | fallback |
|---|---|---|
`

func messagesPage() string {
	var page strings.Builder
	page.WriteString(messagesHead)
	for _, message := range messages.All() {
		arguments := make([]string, 0, len(message.Arguments))
		for _, argument := range message.Arguments {
			arguments = append(arguments, strings.ReplaceAll(argument, "|", `\|`))
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", message.Key, strings.Join(arguments, ", "),
			strings.NewReplacer("|", `\|`, "\n", " ").Replace(message.Fallback))
	}
	return page.String()
}
