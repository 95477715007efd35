// SPDX-License-Identifier: Apache-2.0

// Package javasdk compiles the Java API of plugins, and tests it against an
// agent.
package javasdk

import (
	"context"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build compiles the API, the signatures of Paper that the example needs, the
// example and a program that enables it, from the project at root into out. It
// returns the class path.
func Build(ctx context.Context, root, out string) (string, error) {
	path := ""
	for _, part := range []struct{ sources, classes string }{
		{"sdk/java/src/main/java", "api"},
		{"sdk/java/example/signatures", "signatures"},
		{"sdk/java/example/src/main/java", "example"},
		{"test/javasdk/driver", "driver"},
	} {
		classes := filepath.Join(out, part.classes)
		if err := compile(ctx, filepath.Join(root, part.sources), classes, path); err != nil {
			return "", err
		}
		path = strings.TrimPrefix(path+":"+classes, ":")
	}
	return path, nil
}

// compile takes every warning for an error.
func compile(ctx context.Context, sources, classes, path string) error {
	files, err := javaFiles(sources)
	if err != nil {
		return err
	}
	args := append([]string{"--release", "17", "-Xlint:all,-path", "-Werror", "-d", classes, "-cp", path}, files...)
	if out, err := exec.CommandContext(ctx, "javac", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s: %w\n%s", sources, err, out)
	}
	return nil
}

func javaFiles(folder string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".java") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for Java sources: %w", err)
	}
	return files, nil
}
