// SPDX-License-Identifier: Apache-2.0

// Command render-catalog renders the template of a file-based catalog from
// bundles in directories: opm reads the bundles of a template from a registry
// only, and a catalog is wanted before anything was pushed. Entries of channels
// get the olm.skipRange of their CSV.
//
//	render-catalog TEMPLATE IMAGE=DIRECTORY... >catalog.yaml
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	texttemplate "text/template"

	"github.com/operator-framework/operator-registry/alpha/action"
	"github.com/operator-framework/operator-registry/alpha/action/migrations"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"
	"github.com/operator-framework/operator-registry/alpha/template"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: render-catalog TEMPLATE IMAGE=DIRECTORY...")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "render-catalog:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string, pairs []string) error {
	directories := map[string]string{}
	for _, pair := range pairs {
		image, directory, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("%q is not IMAGE=DIRECTORY", pair)
		}
		directories[image] = directory
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the template: %w", err)
	}
	catalog, err := render(ctx, content, directories)
	if err != nil {
		return err
	}
	return declcfg.WriteYAML(*catalog, os.Stdout)
}

func render(ctx context.Context, content []byte, directories map[string]string) (*declcfg.DeclarativeConfig, error) {
	// Catalogs hold a CSV's metadata in place of the bundle's objects.
	small, err := migrations.NewMigrations(migrations.AllMigrations)
	if err != nil {
		return nil, fmt.Errorf("finding the migrations: %w", err)
	}
	bundle := func(ctx context.Context, image string) (*declcfg.DeclarativeConfig, error) {
		directory, ok := directories[image]
		if !ok {
			return nil, fmt.Errorf("no directory for the bundle %s", image)
		}
		name, err := texttemplate.New("image").Parse(image)
		if err != nil {
			return nil, fmt.Errorf("reading the image %s: %w", image, err)
		}
		return action.Render{
			Refs:             []string{directory},
			AllowedRefMask:   action.RefBundleDir,
			ImageRefTemplate: name,
			Migrations:       small,
		}.Run(ctx)
	}
	renderer, reader, err := template.NewRegistry().CreateTemplateBySchema(bytes.NewReader(content), bundle)
	if err != nil {
		return nil, fmt.Errorf("reading the template: %w", err)
	}
	catalog, err := renderer.Render(ctx, reader)
	if err != nil {
		return nil, fmt.Errorf("rendering the template: %w", err)
	}
	return catalog, addSkipRanges(catalog)
}

// addSkipRanges writes the range of versions that a bundle may be come to from
// into its entry of each channel: OLM looks for it there, and the template
// leaves it in the CSV's annotations.
func addSkipRanges(catalog *declcfg.DeclarativeConfig) error {
	ranges := map[string]string{}
	for _, bundle := range catalog.Bundles {
		properties, err := property.Parse(bundle.Properties)
		if err != nil {
			return fmt.Errorf("reading the properties of %s: %w", bundle.Name, err)
		}
		for _, metadata := range properties.CSVMetadatas {
			ranges[bundle.Name] = metadata.Annotations["olm.skipRange"]
		}
	}
	for _, channel := range catalog.Channels {
		for i := range channel.Entries {
			channel.Entries[i].SkipRange = ranges[channel.Entries[i].Name]
		}
	}
	return nil
}
