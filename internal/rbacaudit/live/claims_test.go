// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/internal/testenv"
)

// claims is an API server with a claim on it that is growing, from 10Gi to 20Gi:
// Kubernetes lets such a one shrink again.
type claims struct {
	*testenv.Env
	*gomega.WithT
	t         *testing.T
	namespace string
}

func newClaims(t *testing.T, env *testenv.Env) *claims {
	c := &claims{Env: env, WithT: gomega.NewWithT(t), t: t, namespace: env.Namespace(t)}
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "growing"}, Provisioner: "example.test/none", AllowVolumeExpansion: new(true)}
	c.Expect(c.Client.Create(t.Context(), class)).To(gomega.Succeed())
	claim := c.claim("survival-0-data")
	c.Expect(c.Client.Create(t.Context(), claim)).To(gomega.Succeed())
	c.bind(claim)
	c.Expect(c.Client.Create(t.Context(), c.claim("unbound"))).To(gomega.Succeed())
	return c
}

// claim is one as the operator makes them.
func (c *claims) claim(name string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.namespace, Name: name, Labels: map[string]string{"spawnery.cloud/managed-by": "spawnery-operator"},
	}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.StorageClassName = new("growing")
	claim.Spec.Resources.Requests = corev1.ResourceList{
		corev1.ResourceStorage: resource.MustParse("10Gi"), "example.test/iops": resource.MustParse("100"),
	}
	return claim
}

// bind plays the provisioner, and whoever asks for more.
func (c *claims) bind(claim *corev1.PersistentVolumeClaim) {
	claim.Spec.VolumeName = "volume-of-" + claim.Name
	c.Expect(c.Client.Update(c.t.Context(), claim)).To(gomega.Succeed())
	claim.Status.Phase = corev1.ClaimBound
	claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	c.Expect(c.Client.Status().Update(c.t.Context(), claim)).To(gomega.Succeed())
	claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("20Gi")
	c.Expect(c.Client.Update(c.t.Context(), claim)).To(gomega.Succeed())
}

func (c *claims) as(namespace, account string) client.Client {
	made, err := client.New(c.AsServiceAccount(namespace, account), client.Options{Scheme: c.Scheme})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	return made
}

// empower lets an account do everything, as an administrator does who wants to
// be rid of a problem.
func (c *claims) empower(namespace, account string) {
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{GenerateName: "everything-"}}
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}
	binding.Subjects = []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}}
	c.Expect(c.Client.Create(c.t.Context(), binding)).To(gomega.Succeed())
	c.Eventually(func() error {
		return c.as(namespace, account).Delete(c.t.Context(), c.class(), client.DryRunAll)
	}, 20*time.Second).Should(gomega.Succeed(), "the binding counts")
}

func (c *claims) class() client.Object {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "growing"}}
}

// confine applies the policy and waits until the API server enforces it.
func (c *claims) confine(manifests []*unstructured.Unstructured, manager client.Client) {
	for _, manifest := range manifests {
		c.Expect(c.Client.Create(c.t.Context(), manifest)).To(gomega.Succeed())
	}
	c.Eventually(func() error {
		owned := c.claim("probe")
		owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: "x", UID: "x"}}
		return manager.Create(c.t.Context(), owned, client.DryRunAll)
	}, 30*time.Second).Should(gomega.MatchError(gomega.ContainSubstring("denied request")))
}

func policy(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	return testenv.ReadManifests(t, testenv.Path(t, "config/admission/claims.yaml"))
}

// writes are what anybody could try on the claim survival-0-data.
func (c *claims) writes() map[string]func(context.Context, client.Client) error {
	patch := func(name string, kind types.PatchType, body string) func(context.Context, client.Client) error {
		return func(ctx context.Context, as client.Client) error {
			return as.Patch(ctx, c.claim(name), client.RawPatch(kind, []byte(body)), client.DryRunAll, client.FieldOwner("test"))
		}
	}
	merge := func(body string) func(context.Context, client.Client) error {
		return patch("survival-0-data", types.MergePatchType, body)
	}
	create := func(change func(*corev1.PersistentVolumeClaim)) func(context.Context, client.Client) error {
		return func(ctx context.Context, as client.Client) error {
			claim := c.claim("survival-1-data")
			change(claim)
			return as.Create(ctx, claim, client.DryRunAll)
		}
	}
	return map[string]func(context.Context, client.Client) error{
		"make a claim": create(func(*corev1.PersistentVolumeClaim) {}),
		"make a claim with annotations": create(func(claim *corev1.PersistentVolumeClaim) {
			claim.Annotations = map[string]string{"example.org/backup": "daily"}
		}),
		"make a claim with an owner": create(func(claim *corev1.PersistentVolumeClaim) {
			claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"}}
		}),
		"grow it":              merge(`{"spec":{"resources":{"requests":{"storage":"30Gi"}}}}`),
		"grow it by a little":  merge(`{"spec":{"resources":{"requests":{"storage":"21474836481"}}}}`),
		"change nothing":       merge(`{"spec":{"resources":{"requests":{"storage":"20Gi"}}}}`),
		"grow it, with an eye": merge(`{"metadata":{"labels":{"mine":"x"}},"spec":{"resources":{"requests":{"storage":"30Gi"}}}}`),
		"shrink it":            merge(`{"spec":{"resources":{"requests":{"storage":"15Gi"}}}}`),
		"add a label":          merge(`{"metadata":{"labels":{"mine":"x"}}}`),
		"remove its label":     merge(`{"metadata":{"labels":null}}`),
		"add an annotation":    merge(`{"metadata":{"annotations":{"mine":"x"}}}`),
		"own it":               merge(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"x"}]}}`),
		"hold it":              merge(`{"metadata":{"finalizers":["kubernetes.io/pvc-protection","example.org/mine"]}}`),
		"let it go":            merge(`{"metadata":{"finalizers":null}}`),
		"ask for another thing": merge(
			`{"spec":{"resources":{"requests":{"example.test/iops":"200"}}}}`),
		"ask for less":      merge(`{"spec":{"resources":{"requests":{"example.test/iops":null}}}}`),
		"limit it":          merge(`{"spec":{"resources":{"limits":{"storage":"50Gi"}}}}`),
		"choose its volume": patch("unbound", types.MergePatchType, `{"spec":{"volumeName":"mine"}}`),
		"give it class":     merge(`{"spec":{"volumeAttributesClassName":"gold"}}`),
		"apply a label": patch("survival-0-data", types.ApplyPatchType,
			`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"survival-0-data","labels":{"mine":"x"}}}`),
		"update it": func(ctx context.Context, as client.Client) error {
			claim := c.claim("survival-0-data")
			if err := c.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
				return err
			}
			claim.Labels["mine"] = "x"
			return as.Update(ctx, claim, client.DryRunAll)
		},
		"write its status": func(ctx context.Context, as client.Client) error {
			return as.Status().Patch(ctx, c.claim("survival-0-data"),
				client.RawPatch(types.MergePatchType, []byte(`{"status":{"capacity":{"storage":"99Gi"}}}`)),
				&client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
		},
		"delete it": func(ctx context.Context, as client.Client) error {
			return as.Delete(ctx, c.claim("survival-0-data"), client.DryRunAll)
		},
		"delete all": func(ctx context.Context, as client.Client) error {
			return as.DeleteAllOf(ctx, &corev1.PersistentVolumeClaim{}, client.InNamespace(c.namespace), client.DryRunAll)
		},
	}
}

// The roles alone refuse it, before any policy is asked.
func TestTheManagersRolesRefuseItToDeleteOrUpdateAClaim(t *testing.T) {
	t.Parallel()
	c := newClaims(t, withRoles(t))
	manager, writes := c.as(ownNamespace, "spawnery-manager"), c.writes()
	for _, what := range []string{"make a claim", "grow it"} {
		c.Expect(writes[what](t.Context(), manager)).To(gomega.Succeed(), what)
	}
	for what, verb := range map[string]string{
		"delete it": "delete", "delete all": "deletecollection", "update it": "update", "write its status": "patch",
	} {
		err := writes[what](t.Context(), manager)
		c.Expect(apierrors.IsForbidden(err)).To(gomega.BeTrue(), "%s: %v", what, err)
		c.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("spawnery-manager\" cannot "+verb)), what)
	}
	claim := c.claim("survival-0-data")
	err := manager.Delete(t.Context(), claim)
	c.Expect(apierrors.IsForbidden(err)).To(gomega.BeTrue(), "%v", err)
	c.Expect(c.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)).To(gomega.Succeed())
	c.Expect(claim.DeletionTimestamp).To(gomega.BeNil())
}

// immutable are Kubernetes' own words for what it lets nobody change.
const immutable = "spec is immutable after creation"

const strays = "the operator changes nothing of a claim but spec.resources.requests.storage, and this would change "

// refusals are the policy's words for each of the writes; empty for what it
// lets through.
func refusals() map[string]string {
	return map[string]string{
		"make a claim":                  "",
		"make a claim with annotations": "",
		"grow it":                       "",
		"grow it by a little":           "",
		"change nothing":                "",
		"make a claim with an owner":    "the operator makes no claim that has an owner, because a claim is deleted with its owner",
		"grow it, with an eye":          strays + "metadata.labels",
		"shrink it":                     "the operator never shrinks a claim, and this would, from 20Gi to 15Gi",
		"add a label":                   strays + "metadata.labels",
		"remove its label":              strays + "metadata.labels",
		"add an annotation":             strays + "metadata.annotations",
		"own it":                        strays + "metadata.ownerReferences",
		"hold it":                       strays + "metadata.finalizers",
		"let it go":                     strays + "metadata.finalizers",
		"ask for another thing":         immutable,
		"ask for less":                  immutable,
		"limit it":                      immutable,
		"choose its volume":             strays + "spec.volumeName",
		"give it class":                 strays + "spec.volumeAttributesClassName",
		"apply a label":                 strays + "metadata.labels",
		"update it":                     strays + "metadata.labels",
		"write its status":              "the operator writes no status of a claim, nor anything else beside it",
		"delete it":                     "a claim holds a world, and the operator never deletes one",
		"delete all":                    "a claim holds a world, and the operator never deletes one",
	}
}

// The policy holds also for an account that may do everything.
func TestThePolicyConfinesTheManagerWhateverItsRoles(t *testing.T) {
	t.Parallel()
	c := newClaims(t, withRoles(t))
	c.empower(ownNamespace, "spawnery-manager")
	c.empower(c.namespace, "somebody")
	manager, somebody := c.as(ownNamespace, "spawnery-manager"), c.as(c.namespace, "somebody")
	writes, want := c.writes(), refusals()
	for what, write := range writes {
		if err := write(t.Context(), manager); err != nil && !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v: it would prove nothing", what, err)
		}
	}
	c.Expect(want).To(gomega.HaveLen(len(writes)), "every write has its answer")
	c.confine(policy(t), manager)
	for what, write := range writes {
		t.Run(what, func(t *testing.T) {
			wantRefusal(t, write(t.Context(), manager), want[what])
			if err := write(t.Context(), somebody); err != nil && strings.Contains(err.Error(), "spawnery-claims") {
				t.Errorf("somebody else is refused too: %v", err)
			}
		})
	}
	claim := c.claim("survival-0-data")
	c.Expect(somebody.Delete(t.Context(), claim)).To(gomega.Succeed(), "a person deletes a world")
}

func wantRefusal(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want == "":
	case err == nil:
		t.Errorf("let through, want %q", want)
	case want == immutable && !strings.Contains(err.Error(), immutable):
		t.Errorf("error = %v, want %q", err, want)
	case want != immutable && (!apierrors.IsForbidden(err) || !strings.HasSuffix(err.Error(), "denied request: "+want)):
		t.Errorf("error = %v, want %q", err, want)
	}
}

// Whatever namespace and prefix an overlay gives, the account that it makes is
// confined.
func TestThePolicyFollowsTheManagerThroughKustomize(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t)
	c := newClaims(t, env)
	rendered := overlay(t, "namespace: elsewhere\nnamePrefix: europe-\nnameSuffix: -two\n")
	var account *unstructured.Unstructured
	var confining []*unstructured.Unstructured
	for _, object := range rendered {
		switch {
		case object.GetKind() == "ServiceAccount":
			account = object
		case strings.HasPrefix(object.GetKind(), "ValidatingAdmissionPolicy"):
			confining = append(confining, object)
		}
	}
	c.Expect(account.GetNamespace() + "/" + account.GetName()).To(gomega.Equal("elsewhere/europe-spawnery-manager-two"))
	c.Expect(confining).To(gomega.HaveLen(2), "the policy and its binding are part of what is deployed")
	c.empower(account.GetNamespace(), account.GetName())
	manager := c.as(account.GetNamespace(), account.GetName())
	c.confine(confining, manager)
	c.Expect(c.writes()["delete it"](t.Context(), manager)).To(gomega.MatchError(gomega.ContainSubstring("never deletes one")))
	c.Expect(c.writes()["grow it"](t.Context(), manager)).To(gomega.Succeed())
}

// overlay renders config/default with further lines of a kustomization.
func overlay(t *testing.T, lines string) []*unstructured.Unstructured {
	t.Helper()
	program := testenv.Path(t, "bin/kustomize")
	if _, err := os.Stat(program); err != nil {
		t.Fatal("no kustomize in bin: run make tools")
	}
	directory, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	base, err := filepath.Rel(directory, testenv.Path(t, "config/default"))
	if err != nil {
		t.Fatal(err)
	}
	content := "resources: [" + base + "]\n" + lines
	if err := os.WriteFile(filepath.Join(directory, "kustomization.yaml"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, "build", directory).Output()
	if err != nil {
		t.Fatalf("rendering config/default: %v", err)
	}
	objects, err := testenv.ParseManifests(out)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// Kubernetes' own controller checks every expression against the schema of a
// claim, and writes down what it does not like.
func TestThePolicyHasNoWarnings(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t)
	c := newClaims(t, env)
	env.StartControllers(t, "validatingadmissionpolicy-status-controller")
	manifests := policy(t)
	for _, manifest := range manifests {
		c.Expect(c.Client.Create(t.Context(), manifest)).To(gomega.Succeed())
	}
	c.Eventually(func(g gomega.Gomega) {
		g.Expect(c.Client.Get(t.Context(), client.ObjectKeyFromObject(manifests[0]), manifests[0])).To(gomega.Succeed())
		observed, _, _ := unstructured.NestedInt64(manifests[0].Object, "status", "observedGeneration")
		g.Expect(observed).To(gomega.Equal(manifests[0].GetGeneration()))
	}, time.Minute).Should(gomega.Succeed())
	warnings, _, err := unstructured.NestedSlice(manifests[0].Object, "status", "typeChecking", "expressionWarnings")
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(warnings).To(gomega.BeEmpty())
}
