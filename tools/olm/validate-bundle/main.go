// SPDX-License-Identifier: Apache-2.0

// Command validate-bundle validates a bundle with the newest validators:
// operator-sdk's own are a few versions older, and mistake any rule on events
// for one on a version of them that is gone. Every finding fails.
//
//	validate-bundle DIRECTORY
package main

import (
	"fmt"
	"os"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	"github.com/operator-framework/api/pkg/validation/errors"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: validate-bundle DIRECTORY")
		os.Exit(2)
	}
	findings, err := validate(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "validate-bundle:", err)
		os.Exit(1)
	}
	for _, finding := range findings {
		fmt.Fprintln(os.Stderr, finding.Error())
	}
	if len(findings) > 0 {
		os.Exit(1)
	}
}

func validate(directory string) ([]errors.Error, error) {
	bundle, err := manifests.GetBundleFromDir(directory)
	if err != nil {
		return nil, fmt.Errorf("reading the bundle: %w", err)
	}
	objects := []any{bundle, bundle.CSV}
	for _, crd := range bundle.V1CRDs {
		objects = append(objects, crd)
	}
	// The one that looks at images is left out: it needs a container engine.
	validators := validation.DefaultBundleValidators.WithValidators(
		validation.OperatorHubV2Validator,
		validation.StandardCapabilitiesValidator,
		validation.StandardCategoriesValidator,
		validation.GoodPracticesValidator,
		validation.AlphaDeprecatedAPIsValidator,
	)
	var findings []errors.Error
	for _, result := range validators.Validate(objects...) {
		findings = append(append(findings, result.Errors...), result.Warnings...)
	}
	return findings, nil
}
