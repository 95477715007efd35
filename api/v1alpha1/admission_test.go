// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/spawnery/spawnery-operator/internal/testenv"
)

// bases are valid objects that the rows of the tables patch.
var bases = map[string]string{
	"network": `
kind: Network
spec: {}`,
	"proxygroup": `
kind: ProxyGroup
spec:
  networkRef: {name: production}
  expose: {type: NodePort, nodePort: {port: 30565}}
  routing: {fallbackGroups: [hub]}`,
	"balanced proxygroup": `
kind: ProxyGroup
spec:
  networkRef: {name: production}
  expose: {type: LoadBalancer, loadBalancer: {loadBalancerClass: example.org/fast}}
  routing: {fallbackGroups: [hub]}`,
	"ephemeral": `
kind: ServerGroup
spec:
  networkRef: {name: production}
  type: Ephemeral
  image: example.org/paper:1
  maxPlayers: 50
  scaling: {minReplicas: 2, maxReplicas: 8, spareSlots: 30}`,
	"persistent": `
kind: ServerGroup
spec:
  networkRef: {name: production}
  type: Persistent
  image: example.org/paper:1
  maxPlayers: 50
  replicas: 2
  storage: {size: 10Gi, storageClassName: fast}`,
	"persistent without a class": `
kind: ServerGroup
spec:
  networkRef: {name: production}
  type: Persistent
  image: example.org/paper:1
  maxPlayers: 50
  replicas: 2
  storage: {size: 10Gi}`,
	"server": `
kind: Server
spec:
  groupRef: {name: hub}
  networkRef: {name: production}`,
	"boost": `
kind: ScaleBoost
spec: {groupRef: {name: hub}, replicas: 2}`,
}

// TestOnAPIServer holds what only an API server can say; one serves them all.
func TestOnAPIServer(t *testing.T) {
	env := testenv.Start(t)
	t.Run("creating", func(t *testing.T) { testCreate(t, env) })
	t.Run("updating", func(t *testing.T) { testUpdate(t, env) })
	t.Run("samples", func(t *testing.T) { testSamples(t, env) })
	t.Run("examples of every release", func(t *testing.T) { testReleased(t, env) })
	t.Run("documented manifests", func(t *testing.T) { testDocumented(t, env) })
	t.Run("parts of manifests on pages", func(t *testing.T) { testPages(t, env) })
}

// testCreate has one object that is accepted and one that is refused for every
// rule that a manifest can break.
func testCreate(t *testing.T, env *testenv.Env) {
	namespace := env.Namespace(t)
	for name, row := range createRows() {
		t.Run(name, func(t *testing.T) {
			accepted := object(t, namespace, row.base, row.accept)
			if err := env.Client.Create(t.Context(), accepted, client.DryRunAll); err != nil {
				t.Errorf("refused %s:\n%v", row.accept, err)
			}
			refused := object(t, namespace, row.base, row.reject)
			err := env.Client.Create(t.Context(), refused, client.DryRunAll)
			if diff := cmp.Diff(row.want, complaints(t, err)); diff != "" {
				t.Errorf("creating %s (-want +got):\n%s", row.reject, diff)
			}
		})
	}
}

// testUpdate is the same for rules that compare an object with what it was.
func testUpdate(t *testing.T, env *testenv.Env) {
	for name, row := range updateRows() {
		t.Run(name, func(t *testing.T) {
			existing := object(t, env.Namespace(t), row.base, "")
			if err := env.Client.Create(t.Context(), existing); err != nil {
				t.Fatal(err)
			}
			if err := patch(t, env, existing, row.accept); err != nil {
				t.Errorf("refused %s:\n%v", row.accept, err)
			}
			if diff := cmp.Diff(row.want, complaints(t, patch(t, env, existing, row.reject))); diff != "" {
				t.Errorf("patching %s (-want +got):\n%s", row.reject, diff)
			}
		})
	}
}

// TestEveryRuleIsTested compares the tables with the rules of the CRDs, so
// that a new rule without a row is noticed.
func TestEveryRuleIsTested(t *testing.T) {
	var complained []string
	for _, rows := range []map[string]admissionRow{createRows(), updateRows()} {
		for _, row := range rows {
			kind := object(t, "any", row.base, "").GetKind()
			for complaint := range strings.Lines(row.want) {
				complained = append(complained, kind+" "+strings.TrimSpace(complaint))
			}
		}
	}
	for _, rule := range declaredRules(t) {
		tested := slices.ContainsFunc(complained, func(complaint string) bool {
			return strings.HasPrefix(complaint, rule.prefix) && strings.Contains(complaint, rule.message)
		})
		if !tested {
			t.Errorf("no row is refused with %q ... %q", rule.prefix, rule.message)
		}
	}
}

// object renders a base with a patch over it.
func object(t *testing.T, namespace, base, patch string) *unstructured.Unstructured {
	t.Helper()
	var content, changes map[string]any
	for text, into := range map[string]*map[string]any{bases[base]: &content, patch: &changes} {
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	if content == nil {
		t.Fatalf("no base %q", base)
	}
	merge(content, changes)
	result := &unstructured.Unstructured{Object: content}
	result.SetAPIVersion("spawnery.cloud/v1alpha1")
	result.SetNamespace(namespace)
	if result.GetName() == "" {
		result.SetName("under-test")
	}
	return result
}

// merge is a JSON merge patch: null deletes, a map is merged, all else replaces.
func merge(into, changes map[string]any) {
	for key, value := range changes {
		nested, isMap := value.(map[string]any)
		existing, wasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && wasMap:
			merge(existing, nested)
		default:
			into[key] = value
		}
	}
}

func patch(t *testing.T, env *testenv.Env, existing *unstructured.Unstructured, changes string) error {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(changes))
	if err != nil {
		t.Fatal(err)
	}
	change := client.RawPatch(types.MergePatchType, content)
	return env.Client.Patch(t.Context(), existing.DeepCopy(), change, client.DryRunAll)
}

// complaints are the field and message of each cause, one per line.
func complaints(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return "accepted"
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.Status().Details == nil {
		t.Fatalf("not a refusal: %v", err)
	}
	var lines []string
	for _, cause := range status.Status().Details.Causes {
		if !strings.Contains(cause.Message, "some validation rules were not checked") {
			lines = append(lines, cause.Field+": "+cause.Message)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// declaredRule is a rule of a CRD: a refusal by it begins with the kind and
// the field, and holds the message.
type declaredRule struct{ prefix, message string }

func declaredRules(t *testing.T) []declaredRule {
	t.Helper()
	var rules []declaredRule
	for _, crd := range crds(t) {
		root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		rules = append(rules, schemaRules(crd.Spec.Names.Kind+" ", "", root)...)
	}
	if len(rules) < 50 {
		t.Fatalf("only %d rules found", len(rules))
	}
	return rules
}

// schemaRules lists CEL rules, enums, patterns and lower bounds of what an
// owner writes. Upper bounds are the API server's arithmetic, not ours.
func schemaRules(kind, path string, schema *apiextensionsv1.JSONSchemaProps) []declaredRule {
	if path == "status" || slices.Contains(embedded, path) {
		return nil
	}
	var rules []declaredRule
	add := func(message string) { rules = append(rules, declaredRule{kind + path, message}) }
	for _, rule := range schema.XValidations {
		message := rule.Message
		if message == "" {
			message = strings.Split(rule.MessageExpression, "'")[1]
		}
		add(message)
	}
	if len(schema.Enum) > 0 {
		add("Unsupported value")
	}
	if schema.Pattern != "" && !schema.XIntOrString {
		add("should match")
	}
	if schema.Minimum != nil {
		add("greater than or equal to")
	}
	for name, property := range schema.Properties {
		rules = append(rules, schemaRules(kind, strings.TrimPrefix(path+"."+name, "."), &property)...)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		rules = append(rules, schemaRules(kind, path+"[0]", schema.Items.Schema)...)
	}
	return rules
}

// embedded are fields of Kubernetes' own types.
var embedded = []string{
	"spec.resources", "spec.scheduling", "spec.defaults.resources", "spec.defaults.scheduling",
}
