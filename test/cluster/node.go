// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// Paths inside a node. They are short and the same in every clone: a socket's
// path may have 107 characters, and a clone may be anywhere.
const (
	nodeCluster = "/run/cluster"
	nodeBin     = "/run/bin"
	nodeControl = "/run/control.sock"
)

// initCommand starts the first process of a node; its argument is the node's
// folder. File 3 is a pipe that says when to begin.
const initCommand = "init"

// node is what the first process of a node needs to know.
type node struct {
	Name    string  `json:"name"`
	Number  int     `json:"number"`
	Network network `json:"network"`
	// Cluster and Bin are the machine's folders that become nodeCluster and
	// nodeBin.
	Cluster string `json:"cluster"`
	Bin     string `json:"bin"`
	// GraceSeconds is how long a node may be silent; 0 is Kubernetes' default.
	GraceSeconds int `json:"graceSeconds"`
}

func nodeName(number int) string { return fmt.Sprintf("node%d", number) }

// runsControlPlane says whether etcd, the API server and its controllers are here.
func (n node) runsControlPlane() bool { return n.Number == 1 }

// folder is the node's own folder, as seen from inside.
func (n node) folder() string { return filepath.Join(nodeCluster, n.Name) }

// read and write keep what the node is in its folder.
func (n *node) read(folder string) error {
	content, err := os.ReadFile(filepath.Join(folder, "node.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, n); err != nil {
		return fmt.Errorf("reading node.json: %w", err)
	}
	return nil
}

func (n *node) write(folder string) error {
	content, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "node.json"), append(content, '\n'), 0o644)
}

// runNode is the life of a node's first process. Its end is the node's end.
func runNode(ctx context.Context, folder string) error {
	var n node
	if err := n.read(folder); err != nil {
		return err
	}
	// Whoever started this process first writes down its number: a process that
	// nobody knows of could never be stopped.
	if _, err := os.NewFile(3, "begin").Read(make([]byte, 1)); err == io.EOF {
		return fmt.Errorf("the start of %s was given up", n.Name)
	} else if err != nil {
		return err
	}
	if err := joinCgroup(n.Network.node(n.Number)); err != nil {
		return fmt.Errorf("joining the node's cgroup: %w", err)
	}
	if err := n.mountAll(); err != nil {
		return err
	}
	if err := syscall.Sethostname([]byte(n.Name)); err != nil {
		return fmt.Errorf("setting the host name: %w", err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		return err
	}
	if err := n.render(); err != nil {
		return err
	}
	return n.supervise(ctx)
}

// mount is one call of the kernel's mount.
type mount struct {
	source, target, kind string
	flags                uintptr
	data                 string
}

func (m mount) do() error {
	if err := syscall.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil {
		return fmt.Errorf("mounting %q on %s: %w", m.source, m.target, err)
	}
	return nil
}

func doAll(mounts ...mount) error {
	for _, m := range mounts {
		if err := os.MkdirAll(m.target, 0o755); err != nil {
			return err
		}
		if err := m.do(); err != nil {
			return err
		}
	}
	return nil
}

// mountAll gives the node its own view of the file system. All of it is seen by
// the node's processes only, and ends with them.
func (n node) mountAll() error {
	steps := []func() error{n.mountRun, n.mountKernel, n.mountOverlays, n.mountState}
	if err := doAll(mount{target: "/", flags: syscall.MS_REC | syscall.MS_PRIVATE}); err != nil {
		return err
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// mountRun replaces /run by an empty one with the cluster's and the binaries'
// folder in it. It is put together in the node's folder and then moved, because
// either folder may itself be below /run.
func (n node) mountRun() error {
	run := filepath.Join(n.Cluster, n.Name, "run")
	return doAll(
		mount{source: "tmpfs", target: run, kind: "tmpfs", data: "mode=755"},
		mount{source: n.Cluster, target: filepath.Join(run, "cluster"), flags: syscall.MS_BIND},
		mount{source: n.Bin, target: filepath.Join(run, "bin"), flags: syscall.MS_BIND},
		mount{source: run, target: "/run", flags: syscall.MS_MOVE},
	)
}

// mountKernel shows the node its own processes and network devices, with the
// machine's cgroups in their place.
func (n node) mountKernel() error {
	err := doAll(
		mount{source: "proc", target: "/proc", kind: "proc"},
		mount{source: cgroupRoot, target: "/run/cgroup", flags: syscall.MS_BIND | syscall.MS_REC},
		mount{source: "sysfs", target: "/sys", kind: "sysfs"},
		mount{source: "/run/cgroup", target: cgroupRoot, flags: syscall.MS_BIND | syscall.MS_REC},
	)
	if err != nil {
		return err
	}
	if err := syscall.Unmount("/run/cgroup", syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("unmounting /run/cgroup: %w", err)
	}
	// From here on mounts reach containers, as the kubelet's volumes must. Done
	// earlier, the unmount above would reach the cgroups' new place.
	if err := doAll(mount{target: "/", flags: syscall.MS_REC | syscall.MS_SHARED}); err != nil {
		return err
	}
	return n.pretendSysctls()
}

// pretendSysctls covers settings of the whole machine, which the kubelet insists
// on, with files that already say what it wants.
func (n node) pretendSysctls() error {
	for name, value := range map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
	} {
		file := filepath.Join("/run/sysctl", filepath.Base(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := (mount{source: file, target: filepath.Join("/proc/sys", name), flags: syscall.MS_BIND}).do(); err != nil {
			return err
		}
	}
	return nil
}

// mountOverlays lets the node write below folders of the machine without
// writing to the machine.
func (n node) mountOverlays() error {
	for _, dir := range []string{"/var", "/etc", "/opt"} {
		upper, work := filepath.Join("/run/overlay", dir, "upper"), filepath.Join("/run/overlay", dir, "work")
		for _, d := range []string{upper, work} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				return err
			}
		}
		data := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", dir, upper, work)
		if err := doAll(mount{source: "overlay", target: dir, kind: "overlay", data: data}); err != nil {
			return err
		}
	}
	return nil
}

// mountState puts what must outlive the node's processes, or is too big for
// memory, into the cluster's folder.
func (n node) mountState() error {
	state := map[string]string{
		filepath.Join(n.folder(), "kubelet"):    "/var/lib/kubelet",
		filepath.Join(n.folder(), "containerd"): "/var/lib/containerd",
		filepath.Join(n.folder(), "pods"):       "/var/log/pods",
		filepath.Join(n.folder(), "volumes"):    "/var/local-volumes",
		filepath.Join(nodeCluster, "volumes"):   "/var/shared-volumes",
	}
	for source, target := range state {
		if err := os.MkdirAll(source, 0o755); err != nil {
			return err
		}
		err := doAll(
			mount{source: source, target: target, flags: syscall.MS_BIND},
			// Its own peer group: else every pod's mounts would appear twice.
			mount{target: target, flags: syscall.MS_PRIVATE},
			mount{target: target, flags: syscall.MS_SHARED},
		)
		if err != nil {
			return err
		}
	}
	return nil
}
