// SPDX-License-Identifier: Apache-2.0

// Command lint is golangci-lint with the Kubernetes API and logging linters
// compiled in, so that one configuration and one run cover all of them.
package main

import (
	"fmt"
	"os"

	"github.com/golangci/golangci-lint/v2/pkg/commands"
	"github.com/golangci/golangci-lint/v2/pkg/exitcodes"
	_ "sigs.k8s.io/kube-api-linter"             // registers kubeapilinter
	_ "sigs.k8s.io/logtools/logcheck/gclplugin" // registers logcheck
)

func main() {
	build := commands.BuildInfo{Version: "2.15.0", GoVersion: "pinned by go.mod", Commit: "none", Date: "none"}
	if err := commands.Execute(build); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitcodes.Failure)
	}
}
