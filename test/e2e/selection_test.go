// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// front are the files about what players come in by.
var front = []string{"drains_test.go", "exchange_test.go", "joins_test.go", "manager_test.go", "nodes_test.go", "proxies_test.go"}

// themes are the names that `make e2e RUN=` knows, and the files whose tests
// each of them runs. Every file with tests is in a theme.
var themes = map[string][]string{
	"agent":      {"games_test.go", "plugins_test.go"},
	"content":    {"content_test.go"},
	"network":    front,
	"persistent": {"persistent_test.go", "uninstall_test.go"},
	"proxy":      front,
	"sizing":     {"rollout_test.go", "scaling_test.go", "scenes_test.go"},
}

// always are the files whose tests judge every run.
var always = []string{"verdict_test.go"}

// pattern is what -run is to match for a theme; any other word is a pattern
// already.
func pattern(run string) (string, error) {
	tests, err := testsByFile(".")
	if err != nil {
		return "", err
	}
	if err := errors.Join(missingFiles(tests), strayFiles(tests)); err != nil {
		return "", err
	}
	files, isTheme := themes[run]
	if !isTheme {
		return run, nil
	}
	var names []string
	for _, file := range slices.Concat(files, always) {
		names = append(names, tests[file]...)
	}
	return "^(" + strings.Join(names, "|") + ")$", nil
}

// missingFiles complains about files in a theme that hold no test.
func missingFiles(tests map[string][]string) error {
	var errs []error
	for _, theme := range slices.Sorted(maps.Keys(themes)) {
		for _, file := range themes[theme] {
			if len(tests[file]) == 0 {
				errs = append(errs, fmt.Errorf("theme %s: no test in %s", theme, file))
			}
		}
	}
	return errors.Join(errs...)
}

// strayFiles complains about files with tests that no theme has.
func strayFiles(tests map[string][]string) error {
	known := slices.Concat(slices.Collect(maps.Values(themes))...)
	var errs []error
	for _, file := range slices.Sorted(maps.Keys(tests)) {
		if !slices.Contains(known, file) && !slices.Contains(always, file) {
			errs = append(errs, fmt.Errorf("%s is in no theme; put it into one in selection_test.go", file))
		}
	}
	return errors.Join(errs...)
}

var isTest = regexp.MustCompile(`^Test[^a-z]`)

// testsByFile are the names of the tests in a folder.
func testsByFile(folder string) (map[string][]string, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return nil, err
	}
	tests := make(map[string][]string)
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if ok && function.Recv == nil && function.Name.Name != "TestMain" && isTest.MatchString(function.Name.Name) {
				name := filepath.Base(path)
				tests[name] = append(tests[name], function.Name.Name)
			}
		}
	}
	return tests, nil
}
