// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

const (
	containerdSocket = "/run/containerd/containerd.sock"
	etcdURL          = "http://127.0.0.1:2379"
	configFolder     = "/run/config"
)

// supervise starts what belongs to the node in the order in which each finds
// what it needs, and stays until it is told to end.
func (n node) supervise(ctx context.Context) error {
	logs := filepath.Join(n.folder(), "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return err
	}
	s := newSupervisor(logs)
	var ready atomic.Bool
	if err := s.serve(ready.Load); err != nil {
		return err
	}
	if n.runsControlPlane() {
		s.keep(n.etcd())
		s.keep(n.apiserver())
	}
	s.keep(n.containerd())
	if err := n.importImages(ctx, s); err != nil {
		return err
	}
	api, err := newAPI(filepath.Join(nodeCluster, "pki"), n.Network.server())
	if err != nil {
		return err
	}
	// Without limit: node1 may be down, as on a real network.
	for !api.ready(ctx) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(100 * time.Millisecond)
	}
	if n.runsControlPlane() {
		s.keep(n.controllerManager())
		s.keep(n.scheduler())
	}
	s.keep(n.kubeProxy())
	s.keep(n.kubelet())
	ready.Store(true)
	log.Print("everything is started")
	<-ctx.Done()
	return nil
}

// importImages gives the node the images that pods of the cluster itself use.
func (n node) importImages(ctx context.Context, s *supervisor) error {
	err := await(ctx, time.Minute, "containerd", func() bool {
		return s.once(component{name: "ctr", args: []string{"ctr", "--address", containerdSocket, "version"}}) == nil
	})
	if err != nil {
		return err
	}
	images, err := filepath.Glob(filepath.Join(nodeBin, "images", "*.tar"))
	if err != nil {
		return err
	}
	for _, image := range images {
		args := []string{"ctr", "--address", containerdSocket, "-n", "k8s.io", "images", "import", image}
		if err := s.once(component{name: "ctr", args: args}); err != nil {
			return fmt.Errorf("importing %s: %w", image, err)
		}
	}
	return nil
}

func pki(file string) string { return filepath.Join(nodeCluster, "pki", file) }

func (n node) etcd() component {
	const peer = "http://127.0.0.1:2380"
	return component{"etcd", []string{
		"etcd", "--data-dir=" + filepath.Join(nodeCluster, "etcd"),
		// The machine's crash is the cluster's end: nothing needs to be on the disk.
		"--unsafe-no-fsync",
		"--listen-client-urls=" + etcdURL, "--advertise-client-urls=" + etcdURL,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		"--log-level=warn",
	}}
}

func (n node) apiserver() component {
	args := []string{
		"kube-apiserver", "--etcd-servers=" + etcdURL, "--secure-port=6443", "--advertise-address=" + n.Network.address(1).String(),
		"--allow-privileged=true", "--service-cluster-ip-range=" + n.Network.services().String(),
		"--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"), "--client-ca-file=" + pki("ca.crt"),
		"--authorization-mode=Node,RBAC",
		// Not on by default, and strict about owner references that block deletion.
		"--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + pki("sa.pub"), "--service-account-signing-key-file=" + pki("sa.key"),
		"--kubelet-client-certificate=" + pki("apiserver-kubelet.crt"), "--kubelet-client-key=" + pki("apiserver-kubelet.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--requestheader-client-ca-file=" + pki("ca.crt"), "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + pki("front-proxy-client.crt"), "--proxy-client-key-file=" + pki("front-proxy-client.key"),
		"--audit-policy-file=" + filepath.Join(configFolder, "audit-policy.yaml"),
		// One file for a whole test run: whoever looks for a denied call finds it.
		"--audit-log-path=" + filepath.Join(nodeCluster, "audit.log"), "--audit-log-maxsize=1000",
	}
	if n.GraceSeconds > 0 {
		args = append(args,
			fmt.Sprintf("--default-not-ready-toleration-seconds=%d", n.GraceSeconds),
			fmt.Sprintf("--default-unreachable-toleration-seconds=%d", n.GraceSeconds))
	}
	return component{"kube-apiserver", args}
}

func (n node) controllerManager() component {
	kubeconfig := pki("controller-manager.kubeconfig")
	args := []string{
		"kube-controller-manager", "--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", "--leader-elect=false", "--use-service-account-credentials",
		// The default of 20 requests a second is what a mass of pods waits for.
		"--kube-api-qps=500", "--kube-api-burst=1000",
		"--service-account-private-key-file=" + pki("sa.key"), "--root-ca-file=" + pki("ca.crt"),
		"--cluster-signing-cert-file=" + pki("ca.crt"), "--cluster-signing-key-file=" + pki("ca.key"),
		"--cluster-cidr=" + n.Network.pods().String(), "--allocate-node-cidrs=false",
	}
	if n.GraceSeconds > 0 {
		args = append(args, fmt.Sprintf("--node-monitor-grace-period=%ds", n.GraceSeconds), "--node-monitor-period=1s")
	}
	return component{"kube-controller-manager", args}
}

func (n node) scheduler() component {
	return component{"kube-scheduler", []string{
		"kube-scheduler", "--kubeconfig=" + pki("scheduler.kubeconfig"), "--bind-address=127.0.0.1",
		"--leader-elect=false", "--kube-api-qps=500", "--kube-api-burst=1000",
	}}
}

func (n node) containerd() component {
	return component{"containerd", []string{"containerd", "--config", filepath.Join(configFolder, "containerd.toml")}}
}

func (n node) kubeProxy() component {
	return component{"kube-proxy", []string{"kube-proxy", "--config=" + filepath.Join(configFolder, "kube-proxy.yaml")}}
}

func (n node) kubelet() component {
	return component{"kubelet", []string{
		"kubelet", "--config=" + filepath.Join(configFolder, "kubelet.yaml"), "--kubeconfig=" + pki("kubelet-"+n.Name+".kubeconfig"),
		"--hostname-override=" + n.Name, "--node-ip=" + n.Network.address(n.Number).String(),
	}}
}
