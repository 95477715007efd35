// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
)

// image is what containers of a name run from.
type image struct {
	// files are in its root folder: a path inside to a file or folder outside.
	files map[string]string
	// user that it runs as when its pod does not say.
	user uint32
}

const (
	// accountFolder is where a program in a pod looks for its account.
	accountFolder = "var/run/secrets/kubernetes.io/serviceaccount"
	// bundleVolume is what OLM calls the volume that a bundle is copied to.
	bundleVolume = "bundle"
)

// provide makes an image known.
func (n *node) provide(name string, i image) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.images[name] = i
}

func (n *node) image(name string) (image, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i, ok := n.images[name]
	if !ok {
		return image{}, fmt.Errorf("no image %q is provided here", name)
	}
	return i, nil
}

// launch starts the pod's one container as the kubelet does: with the root of
// its image, its user, its account's token, and no other network.
func (n *node) launch(ctx context.Context, pod *corev1.Pod, inside *network) (*process, error) {
	spec := pod.Spec.Containers[0]
	from, err := n.image(spec.Image)
	if err != nil {
		return nil, err
	}
	root := filepath.Join(n.roots, string(pod.UID))
	if err := n.fill(root, pod, from); err != nil {
		return nil, fmt.Errorf("making the root folder: %w", err)
	}
	if err := n.writeAccount(ctx, filepath.Join(root, accountFolder), pod); err != nil {
		return nil, err
	}
	words := slices.Concat(spec.Command, spec.Args)
	program := words[0]
	if !path.IsAbs(program) {
		program = path.Join("/bin", program)
	}
	user := from.user
	if context := pod.Spec.SecurityContext; context != nil && context.RunAsUser != nil {
		user = uint32(*context.RunAsUser)
	}
	environment, err := n.environment(pod, spec)
	if err != nil {
		return nil, err
	}
	return launch(&exec.Cmd{
		Path: program, Args: words, Dir: "/", Env: environment,
		SysProcAttr: &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}},
	}, inside, n.logOf(pod))
}

// fill makes the root folder. Of the containers that come first only the one
// that copies a bundle out of its image leaves anything.
func (n *node) fill(root string, pod *corev1.Pod, from image) error {
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	if err := copyAll(root, from.files); err != nil {
		return err
	}
	for _, first := range pod.Spec.InitContainers {
		content, err := n.image(first.Image)
		if err != nil {
			return err
		}
		for _, mount := range first.VolumeMounts {
			if mount.Name == bundleVolume {
				if err := copyAll(filepath.Join(root, mount.MountPath), content.files); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// writeAccount writes a token of the pod's account, bound to the pod.
func (n *node) writeAccount(ctx context.Context, folder string, pod *corev1.Pod) error {
	account := &corev1.ServiceAccount{}
	account.Namespace, account.Name = pod.Namespace, pod.Spec.ServiceAccountName
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	if err := n.client.SubResource("token").Create(ctx, account, request); err != nil {
		return fmt.Errorf("asking for a token of %s: %w", account.Name, err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for file, content := range map[string]string{
		"token": request.Status.Token, "ca.crt": string(n.config.CAData), "namespace": pod.Namespace,
	} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// environment is what the pod's spec says and what a kubelet adds.
func (n *node) environment(pod *corev1.Pod, spec corev1.Container) ([]string, error) {
	address, err := addressOf(n.config)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's address: %w", err)
	}
	all := []string{"KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port, "HOSTNAME=" + pod.Name}
	for _, variable := range spec.Env {
		value := variable.Value
		if from := variable.ValueFrom; from != nil && from.FieldRef != nil {
			value = field(pod, from.FieldRef.FieldPath)
		}
		all = append(all, variable.Name+"="+value)
	}
	return all, nil
}

// field is a field of the pod that a variable may be taken from.
func field(pod *corev1.Pod, name string) string {
	switch name {
	case "metadata.namespace":
		return pod.Namespace
	case "metadata.name":
		return pod.Name
	}
	key := strings.TrimSuffix(strings.TrimPrefix(name, "metadata.annotations['"), "']")
	return pod.Annotations[key]
}

// copyAll copies files and folders to their places under a folder.
func copyAll(folder string, files map[string]string) error {
	for inside, outside := range files {
		if err := copyTo(filepath.Join(folder, inside), outside); err != nil {
			return err
		}
	}
	return nil
}

// copyTo copies a file or a folder. A program is linked where it can be: it is
// large, and nobody in the root folder may write to it.
func copyTo(to, from string) error {
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o755)
}
