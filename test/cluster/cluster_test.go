// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These tests start real clusters, by the program that `make cluster` uses.
// They take minutes, need root, and run with `make test-cluster`.

const binVariable = "SPAWNERY_TEST_CLUSTER_BIN"

// clone stands for a clone of the project: a folder with a cluster in it.
type clone struct {
	t      *testing.T
	bin    string
	folder string
}

func newClone(t *testing.T) clone {
	t.Helper()
	bin := os.Getenv(binVariable)
	if bin == "" {
		t.Skipf("needs root and the cluster's binaries: run `make test-cluster` (it sets %s)", binVariable)
	}
	c := clone{t: t, bin: bin, folder: filepath.Join(t.TempDir(), "cluster")}
	t.Cleanup(func() {
		if t.Failed() {
			c.showLogs()
		}
		// The test's own context has ended by now.
		if out, err := exec.Command(c.program(), c.arguments("down")...).CombinedOutput(); err != nil {
			t.Errorf("stopping the cluster: %v\n%s", err, out)
		}
	})
	return c
}

func (c clone) program() string { return filepath.Join(c.bin, "testcluster") }

func (c clone) arguments(args ...string) []string {
	return append([]string{"-bin", c.bin, "-folder", c.folder}, args...)
}

// try runs the program and returns what it said.
func (c clone) try(args ...string) (string, error) {
	c.t.Helper()
	begin := time.Now()
	out, err := exec.CommandContext(c.t.Context(), c.program(), c.arguments(args...)...).CombinedOutput()
	c.t.Logf("cluster %s (%.1fs): %v\n%s", strings.Join(args, " "), time.Since(begin).Seconds(), err, out)
	return string(out), err
}

func (c clone) do(args ...string) string {
	c.t.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.t.Fatalf("cluster %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func (c clone) kubectl(args ...string) string {
	c.t.Helper()
	o := options{bin: c.bin, folder: c.folder}
	out, err := kubectl(c.t.Context(), o, args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

func (c clone) apply(manifest string) {
	c.t.Helper()
	apply := exec.CommandContext(c.t.Context(), filepath.Join(c.bin, "kubectl"), "--kubeconfig", filepath.Join(c.folder, "kubeconfig"), "apply", "-f", "-")
	apply.Stdin = strings.NewReader(manifest)
	if out, err := apply.CombinedOutput(); err != nil {
		c.t.Fatalf("applying: %v\n%s", err, out)
	}
}

func (c clone) record() *record {
	c.t.Helper()
	r := findRecord(c.folder)
	if r == nil {
		c.t.Fatalf("no cluster of %s is recorded", c.folder)
	}
	return r
}

// killAll ends every process of the cluster as the end of the machine's session
// would: at once, with nobody to tidy up.
func (c clone) killAll() {
	c.t.Helper()
	n := c.record().Network
	var pids []int
	for _, ns := range n.namespaces() {
		found, err := processesIn(c.t.Context(), ns)
		if err != nil {
			c.t.Fatal(err)
		}
		pids = append(pids, found...)
	}
	if len(pids) < 5 {
		c.t.Fatalf("only processes %d live in the cluster's namespaces", pids)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			c.t.Fatal(err)
		}
	}
	c.await("the end of all processes", func() bool { return len(c.record().alive()) == 0 })
	for what, left := range map[string][]string{"namespaces": n.namespaces(), "links": n.links()} {
		if len(left) == 0 {
			c.t.Errorf("no %s are left: nothing is there to be taken over", what)
		}
	}
}

func (c clone) await(what string, done func() bool) {
	c.t.Helper()
	if err := await(c.t.Context(), time.Minute, what, done); err != nil {
		c.t.Fatal(err)
	}
}

func (c clone) showLogs() {
	found, err := filepath.Glob(filepath.Join(c.folder, "node*", "init.log"))
	if err != nil {
		return
	}
	for _, file := range found {
		if content, err := os.ReadFile(file); err == nil {
			c.t.Logf("%s:\n%s", file, content)
		}
	}
}

// machineState is what a cluster must not leave behind.
func machineState(t *testing.T) []string {
	t.Helper()
	var state []string
	add := func(kind string, things []string) {
		for _, thing := range things {
			state = append(state, kind+" "+thing)
		}
	}
	all := func(string) bool { return true }
	add("namespace", entries(namespaceFolder, all))
	add("link", entries(linkFolder, all))
	add("record", entries(recordFolder, func(name string) bool { return name != "lock" }))
	routes, err := command(context.Background(), "ip", "route", "show", "table", "all")
	if err != nil {
		t.Fatal(err)
	}
	add("route", strings.Split(routes, "\n"))
	for _, dir := range append(hierarchies(), filepath.Join(cgroupRoot, "unified")) {
		for _, name := range entries(dir, func(name string) bool { return strings.HasPrefix(name, prefix) }) {
			add("cgroup", []string{filepath.Join(dir, name)})
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	add("mount", strings.Split(string(mounts), "\n"))
	add("process", elsewhere(t))
	slices.Sort(state)
	return state
}

// elsewhere returns the processes that live in another PID namespace than we.
func elsewhere(t *testing.T) []string {
	t.Helper()
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	return entries("/proc", func(name string) bool {
		ns, err := os.Readlink(filepath.Join("/proc", name, "ns", "pid"))
		if err != nil || ns == own {
			return false
		}
		// The machine's first process may take a while to collect what has ended.
		pid, err := strconv.Atoi(name)
		if err != nil {
			return false
		}
		_, err = identify(pid)
		return err == nil
	})
}

func wantSame(t *testing.T, before, after []string) {
	t.Helper()
	for _, thing := range after {
		if !slices.Contains(before, thing) {
			t.Errorf("left behind: %s", thing)
		}
	}
	for _, thing := range before {
		if !slices.Contains(after, thing) {
			t.Errorf("gone, though not ours: %s", thing)
		}
	}
}

func TestDownLeavesNothing(t *testing.T) {
	c := newClone(t)
	before := machineState(t)
	c.do("-nodes", "2", "up")
	if during := machineState(t); len(during) < len(before)+10 {
		t.Fatalf("the running cluster is not to be seen: %q", during)
	}
	c.do("down")
	wantSame(t, before, machineState(t))
	if _, err := os.Stat(filepath.Join(c.folder, "kubeconfig")); !os.IsNotExist(err) {
		t.Errorf("the kubeconfig of the stopped cluster is left: %v", err)
	}
	c.do("down")
	wantSame(t, before, machineState(t))
}

func TestASecondUpKeepsTheHealthyCluster(t *testing.T) {
	c := newClone(t)
	c.do("-nodes", "2", "up")
	first := c.record()
	for _, args := range [][]string{{"up"}, {"-nodes", "2", "up"}} {
		if out := c.do(args...); !strings.Contains(out, "up and healthy") {
			t.Errorf("up again does not say that the cluster is healthy")
		}
		if !slices.Equal(first.Nodes, c.record().Nodes) {
			t.Errorf("the nodes are other processes than before")
		}
	}

	c.do("component", "kill", "kube-scheduler")
	c.await("the scheduler's end", func() bool { return healthyNode(t.Context(), first.Nodes[0]) != nil })
	if out := c.do("up"); !strings.Contains(out, "kube-scheduler is dead") {
		t.Errorf("up does not say why it started anew")
	}
	if slices.Equal(first.Nodes, c.record().Nodes) {
		t.Error("the cluster without a scheduler was kept")
	}
	c.do("status")
}

func TestAKilledClusterIsTakenOver(t *testing.T) {
	before := machineState(t)
	c := newClone(t)
	c.do("up")
	n := c.record().Network

	c.killAll()
	c.do("up")
	if got := c.record().Network; got != n {
		t.Errorf("the cluster came up in network %d, beside its own leftovers in %d", got, n)
	}
	c.do("status")

	c.killAll()
	other := newClone(t)
	if out := other.do("up"); !strings.Contains(out, fmt.Sprintf("taking over network %d from the killed cluster of %s", n, c.folder)) {
		t.Error("the other clone does not say what it took over")
	}
	other.do("status")

	other.killAll()
	if err := os.Remove(recordFile(n)); err != nil {
		t.Fatal(err)
	}
	c.do("-network", strconv.Itoa(int(n)), "up")
	c.do("status")

	c.killAll()
	c.do("down")
	wantSame(t, before, machineState(t))
}

func TestALivingClusterOfAnotherFolderIsLeftAlone(t *testing.T) {
	c, other := newClone(t), newClone(t)
	c.do("up")
	first := c.record()

	out, err := other.try("-network", strconv.Itoa(int(first.Network)), "up")
	if err == nil || !strings.Contains(out, c.folder) {
		t.Errorf("the wanted network of a living cluster is not refused with the name of %s", c.folder)
	}
	if out := other.do("up"); !strings.Contains(out, c.folder) {
		t.Errorf("it is not said that network %d belongs to %s", first.Network, c.folder)
	}
	if got := other.record().Network; got == first.Network {
		t.Errorf("both clusters have network %d", got)
	}
	other.do("status")
	other.do("down")

	// Nothing of the other clone's life has touched the first one.
	if !slices.Equal(first.Nodes, c.record().Nodes) {
		t.Error("the first cluster's nodes are other processes than before")
	}
	c.do("status")
}

func TestNodesAndComponentsFailAndComeBack(t *testing.T) {
	c := newClone(t)
	c.do("-nodes", "2", "-grace", "4s", "up")
	ready := func(want string) {
		t.Helper()
		c.kubectl("wait", "--for=condition=Ready="+want, "node/node2", "--timeout=60s")
	}
	for _, how := range []string{"stop", "pause"} {
		c.do("node", how, "2")
		ready("Unknown")
		if out, err := c.try("status"); err == nil || !strings.Contains(out, "node2") {
			t.Errorf("the status of a cluster with a node that is down is fine")
		}
		c.do("node", "start", "2")
		ready("True")
		c.do("status")
	}

	c.do("component", "kill", "kube-apiserver")
	c.await("the API server's end", func() bool { return healthyNode(t.Context(), c.record().Nodes[0]) != nil })
	c.do("component", "restart", "kube-apiserver")
	c.await("the API server", func() bool { _, err := c.try("status"); return err == nil })
	if out, err := c.try("component", "kill", "nonsense"); err == nil || !strings.Contains(out, "nonsense") {
		t.Error("a component that does not exist can be killed")
	}

	c.do("node", "stop", "1")
	c.do("node", "start", "1")
	c.await("the control plane", func() bool { _, err := c.try("status"); return err == nil })
	c.kubectl("get", "serviceaccount/default")
}

const pods = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: bound}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: moving}
spec: {storageClassName: shared, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, targetPort: 8080, nodePort: 30080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  nodeSelector: {kubernetes.io/hostname: node2}
  containers:
  - name: web
    image: spawnery.test/busybox:1
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "echo hello > /bound/index.html; cp /bound/index.html /moving/; exec httpd -f -p 8080 -h /bound"]
    readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
    volumeMounts: [{name: bound, mountPath: /bound}, {name: moving, mountPath: /moving}]
    resources: {limits: {memory: 32Mi, cpu: 500m}}
  volumes:
  - {name: bound, persistentVolumeClaim: {claimName: bound}}
  - {name: moving, persistentVolumeClaim: {claimName: moving}}
`

const secondPod = `
apiVersion: v1
kind: Pod
metadata: {name: reader}
spec:
  nodeSelector: {kubernetes.io/hostname: node1}
  containers:
  - name: reader
    image: spawnery.test/busybox:1
    imagePullPolicy: IfNotPresent
    command: [sleep, "3600"]
    volumeMounts: [{name: moving, mountPath: /moving}]
  volumes: [{name: moving, persistentVolumeClaim: {claimName: moving}}]
`

func TestPodsServicesAndVolumesAreReal(t *testing.T) {
	c := newClone(t)
	c.do("-nodes", "2", "up")
	c.apply(pods)
	c.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")

	n := c.record().Network
	for what, host := range map[string]string{
		"the pod":             c.kubectl("get", "pod/web", "-o", "jsonpath={.status.podIP}") + ":8080",
		"its Service":         c.kubectl("get", "service/web", "-o", "jsonpath={.spec.clusterIP}"),
		"a node's port":       n.address(1).String() + ":30080",
		"its own node's port": n.address(2).String() + ":30080",
	} {
		// kube-proxy learns of a ready pod a moment later than we do.
		c.await(what+" to answer the machine", func() bool { return fetch(host) == "hello\n" })
	}

	// The world follows the pod: the volume is read on the other node.
	c.apply(secondPod)
	c.kubectl("wait", "--for=condition=Ready", "pod/reader", "--timeout=60s")
	if got := c.kubectl("exec", "reader", "--", "cat", "/moving/index.html"); got != "hello" {
		t.Errorf("the shared volume holds %q on the other node", got)
	}
	if got := c.kubectl("exec", "reader", "--", "nslookup", "web.default.svc.cluster.local"); !strings.Contains(got, "Name:") {
		t.Errorf("the DNS says %q", got)
	}
	if got := c.kubectl("exec", "reader", "--", "sh", "-c", "echo hi | nc -w 5 "+echoServer(t, n)); got != "hi" {
		t.Errorf("the machine answers %q to a pod", got)
	}
	if affinity := c.kubectl("get", "pv", "-o", "jsonpath={range .items[*]}{.spec.storageClassName}={.spec.nodeAffinity};{end}"); !strings.Contains(affinity, "shared=;") || !strings.Contains(affinity, "node2") {
		t.Errorf("volumes are bound to nodes like this: %s", affinity)
	}
	checkAudit(t, c)
}

// checkAudit looks for an allowed and for a denied call in the audit log.
func checkAudit(t *testing.T, c clone) {
	t.Helper()
	if _, err := kubectl(t.Context(), options{bin: c.bin, folder: c.folder}, "--as=system:serviceaccount:default:default", "get", "secrets"); err == nil {
		t.Error("an account without rights may read secrets")
	}
	content, err := os.ReadFile(filepath.Join(c.folder, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, decision := range []string{"allow", "forbid"} {
		if want := `"authorization.k8s.io/decision":"` + decision + `"`; !bytes.Contains(content, []byte(want)) {
			t.Errorf("the audit log lacks %s", want)
		}
	}
}

func TestAnImageIsLoadedIntoEveryNode(t *testing.T) {
	c := newClone(t)
	c.do("-nodes", "2", "up")
	archive := filepath.Join(t.TempDir(), "image.tar")
	digest, err := command(t.Context(), filepath.Join(c.bin, "mkimage"), "-o", archive, "-t", "spawnery.test/loaded:dev", "-user", "65532", "-entrypoint", "/pause", filepath.Join(c.bin, "pause")+"=/pause")
	if err != nil {
		t.Fatal(err)
	}
	c.do("load", archive)
	for i, p := range c.record().Nodes {
		out, err := command(t.Context(), filepath.Join(c.bin, "ctr"), "--address", p.root(containerdSocket), "-n", "k8s.io", "images", "ls")
		if err != nil || !strings.Contains(out, "spawnery.test/loaded:dev") || !strings.Contains(out, digest) {
			t.Errorf("node %d lacks spawnery.test/loaded:dev with %s: %v\n%s", i+1, digest, err, out)
		}
	}
	c.kubectl("run", "loaded", "--image=spawnery.test/loaded@"+strings.TrimSpace(digest), "--image-pull-policy=Never")
	c.kubectl("wait", "--for=condition=Ready", "pod/loaded", "--timeout=60s")
}

// fetch returns what a web server says; nothing if it does not answer.
func fetch(host string) string {
	client := http.Client{Timeout: 2 * time.Second}
	response, err := client.Get("http://" + host + "/")
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return ""
	}
	return string(content)
}

// echoServer listens on the machine's address in the cluster's network, and
// returns it in the form that nc takes.
func echoServer(t *testing.T, n network) string {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(n.machine().Addr().String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.Copy(conn, conn)
	}()
	host, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return host + " " + port
}
