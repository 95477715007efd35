// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import "maps"

// admissionRow patches a base once so that it is accepted and once so that it
// is refused, with exactly these complaints.
type admissionRow struct {
	base, accept, reject, want string
}

func updateRows() map[string]admissionRow {
	return map[string]admissionRow{
		"a proxy group stays in its network": {
			base:   "proxygroup",
			accept: `spec: {networkRef: {name: production}, replicas: 2}`,
			reject: `spec: {networkRef: {name: other}}`,
			want:   "spec.networkRef: Invalid value: networkRef is immutable",
		},
		"a load balancer keeps its class": {
			base:   "balanced proxygroup",
			accept: `spec: {expose: {loadBalancer: {externalTrafficPolicy: Cluster}}}`,
			reject: `spec: {expose: {loadBalancer: {loadBalancerClass: null}}}`,
			want:   "spec.expose: Invalid value: loadBalancer.loadBalancerClass is immutable while the type is LoadBalancer",
		},
		"what was a load balancer can be one of another class": {
			base:   "proxygroup",
			accept: `spec: {expose: {type: LoadBalancer, nodePort: null, loadBalancer: {loadBalancerClass: example.org/slow}}}`,
			reject: `spec: {expose: {type: LoadBalancer}}`,
			want:   "spec.expose: Invalid value: nodePort is required with type NodePort and forbidden with any other",
		},
		"a server group stays in its network": {
			base:   "ephemeral",
			accept: `spec: {networkRef: {name: production}, maxPlayers: 60}`,
			reject: `spec: {networkRef: {name: other}}`,
			want:   "spec.networkRef: Invalid value: networkRef is immutable",
		},
		"a server group keeps its type": {
			base:   "ephemeral",
			accept: `spec: {type: Ephemeral, image: "example.org/paper:2"}`,
			reject: `spec: {type: Persistent, scaling: null, replicas: 1, storage: {size: 1Gi}}`,
			want:   `spec.type: Invalid value: "Persistent": type is immutable`,
		},
		"a claim grows and never shrinks": {
			base:   "persistent",
			accept: `spec: {storage: {size: 20Gi}}`,
			reject: `spec: {storage: {size: 9Gi}}`,
			want:   `spec.storage.size: Invalid value: "9Gi": size must not shrink`,
		},
		"a storage class is not changed": {
			base:   "persistent",
			accept: `spec: {storage: {storageClassName: fast}, replicas: 0}`,
			reject: `spec: {storage: {storageClassName: slow}}`,
			want:   "spec.storage: Invalid value: storageClassName is immutable",
		},
		"a storage class is not removed": {
			base:   "persistent",
			accept: `spec: {storage: {size: 10Gi}}`,
			reject: `spec: {storage: {storageClassName: null}}`,
			want:   "spec.storage: Invalid value: storageClassName is immutable",
		},
		"a storage class is not set later": {
			base:   "persistent without a class",
			accept: `spec: {replicas: 3}`,
			reject: `spec: {storage: {storageClassName: ""}}`,
			want:   "spec.storage: Invalid value: storageClassName is immutable",
		},
		"access modes are not changed": {
			base:   "persistent",
			accept: `spec: {storage: {accessModes: [ReadWriteOnce]}}`,
			reject: `spec: {storage: {accessModes: [ReadWriteMany]}}`,
			want:   "spec.storage.accessModes: Invalid value: accessModes is immutable",
		},
		"a server stays in its group": {
			base:   "server",
			accept: `spec: {retireReason: Requested}`,
			reject: `spec: {groupRef: {name: other}}`,
			want:   "spec.groupRef: Invalid value: groupRef is immutable",
		},
		"a server stays in its network": {
			base:   "server",
			accept: `spec: {podHash: abc}`,
			reject: `spec: {networkRef: {name: other}}`,
			want:   "spec.networkRef: Invalid value: networkRef is immutable",
		},
	}
}

func createRows() map[string]admissionRow {
	rows := map[string]admissionRow{}
	for _, part := range []map[string]admissionRow{
		networkRows(), proxyGroupRows(), routingRows(), proxyBoundsRows(), proxyProtocolRows(), proxyConfigMapRows(), rateLimitRows(), joinPermissionRows(), groupTypeRows(), groupNumberRows(),
		updateStrategyRows(), gameServerRows(), environmentRows(), claimAnnotationRows(), templateRows(),
		portRows(), policyRows(), serverRows(), boostRows(), proxyUpdateRows(),
	} {
		maps.Copy(rows, part)
	}
	return rows
}

func networkRows() map[string]admissionRow {
	return map[string]admissionRow{
		"a network is named by a label": {
			base:   "network",
			accept: `metadata: {name: a123456789-123456789-123456789-123456789}`,
			reject: `metadata: {name: a.b}`,
			want:   "<nil>: Invalid value: the name must be a DNS label of at most 40 characters",
		},
		"a network's name has at most 40 characters": {
			base:   "network",
			accept: `metadata: {name: 2b2t}`,
			reject: `metadata: {name: a123456789-123456789-123456789-1234567890}`,
			want:   "<nil>: Invalid value: the name must be a DNS label of at most 40 characters",
		},
		"a secret is named": {
			base:   "network",
			accept: `spec: {forwardingSecretRef: {name: shared}}`,
			reject: `spec: {forwardingSecretRef: {}}`,
			want:   "spec.forwardingSecretRef.name: Required value",
		},
		"a pull secret is named": {
			base:   "network",
			accept: `spec: {defaults: {imagePullSecrets: [{name: pull}]}}`,
			reject: `spec: {defaults: {imagePullSecrets: [{}]}}`,
			want:   "spec.defaults.imagePullSecrets[0].name: Required value",
		},
		"a default user has a known policy": {
			base:   "network",
			accept: `spec: {defaults: {user: {policy: Namespace}}}`,
			reject: `spec: {defaults: {user: {policy: Root}}}`,
			want:   `spec.defaults.user.policy: Unsupported value: "Root": supported values: "Fixed", "Namespace"`,
		},
		"a default user is either fixed or the namespace's": {
			base:   "network",
			accept: `spec: {defaults: {user: {uid: 1001, gid: 1001, fsGroup: 1001}}}`,
			reject: `spec: {defaults: {user: {policy: Namespace, fsGroup: 1001}}}`,
			want:   "spec.defaults.user: Invalid value: uid, gid and fsGroup are only allowed with policy Fixed",
		},
		"a default user is not root": {
			base:   "network",
			accept: `spec: {defaults: {user: {uid: 1}}}`,
			reject: `spec: {defaults: {user: {uid: 0, gid: 0, fsGroup: 0}}}`,
			want: "spec.defaults.user.fsGroup: Invalid value: 0: spec.defaults.user.fsGroup in body should be greater than or equal to 1" + "\n" +
				"spec.defaults.user.gid: Invalid value: 0: spec.defaults.user.gid in body should be greater than or equal to 1" + "\n" +
				"spec.defaults.user.uid: Invalid value: 0: spec.defaults.user.uid in body should be greater than or equal to 1",
		},
		"a permission group is named": {
			base:   "network",
			accept: `spec: {permissions: [{name: admins}]}`,
			reject: `spec: {permissions: [{players: [alice]}]}`,
			want:   "spec.permissions[0].name: Required value",
		},
		"a permission group's name is a label": {
			base:   "network",
			accept: `spec: {permissions: [{name: moderators-2}]}`,
			reject: `spec: {permissions: [{name: Admins}]}`,
			want:   `spec.permissions[0].name: Invalid value: "Admins": spec.permissions[0].name in body should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'`,
		},
		"a permission group stands once": {
			base:   "network",
			accept: `spec: {permissions: [{name: a}, {name: b, inherits: [a]}]}`,
			reject: `spec: {permissions: [{name: a}, {name: a}]}`,
			want:   `spec.permissions[1]: Duplicate value: {"name":"a"}`,
		},
		"a player is a name or a UUID": {
			base:   "network",
			accept: `spec: {permissions: [{name: a, players: [Al_ice9, 069a79f4-44e9-4726-a5be-fca90e38aaf5]}]}`,
			reject: `spec: {permissions: [{name: a, players: [al-ice]}]}`,
			want:   `spec.permissions[0].players[0]: Invalid value: "al-ice": spec.permissions[0].players[0] in body should match '^([A-Za-z0-9_]{1,16}|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$'`,
		},
		"a permission is a node": {
			base:   "network",
			accept: `spec: {permissions: [{name: a, permissions: ["*", "spawnery.*", "-spawnery.cloud.scale", "spawnery.join.full.hub-2"]}]}`,
			reject: `spec: {permissions: [{name: a, permissions: ["spawnery.*.scale"]}]}`,
			want:   `spec.permissions[0].permissions[0]: Invalid value: "spawnery.*.scale": spec.permissions[0].permissions[0] in body should match '^-?(\*|[a-z0-9_-]+(\.[a-z0-9_-]+)*(\.\*)?)$'`,
		},
	}
}

func proxyGroupRows() map[string]admissionRow {
	return map[string]admissionRow{
		"a proxy group's name begins with a letter": {
			base:   "proxygroup",
			accept: `metadata: {name: edge-1}`,
			reject: `metadata: {name: 1-edge}`,
			want:   "<nil>: Invalid value: the name must be a DNS label of at most 40 characters that begins with a letter",
		},
		"a proxy group names its network": {
			base:   "proxygroup",
			accept: `spec: {networkRef: {name: other}}`,
			reject: `spec: {networkRef: {name: null}}`,
			want:   "spec.networkRef.name: Required value",
		},
		"a proxy group says how it is reached and where players go": {
			base:   "proxygroup",
			accept: `spec: {}`,
			reject: `spec: {networkRef: null, expose: null, routing: null}`,
			want: "spec.expose: Required value" + "\n" +
				"spec.networkRef: Required value" + "\n" +
				"spec.routing: Required value",
		},
		"a proxy group has at least one proxy": {
			base:   "proxygroup",
			accept: `spec: {replicas: 1}`,
			reject: `spec: {replicas: 0}`,
			want:   "spec.replicas: Invalid value: 0: spec.replicas in body should be greater than or equal to 1",
		},
		"a way in is of a known type": {
			base:   "proxygroup",
			accept: `spec: {expose: {type: ClusterIP, nodePort: null, clusterIP: {address: "play.example.org"}}}`,
			reject: `spec: {expose: {type: Ingress, nodePort: null}}`,
			want:   `spec.expose.type: Unsupported value: "Ingress": supported values: "ClusterIP", "NodePort", "LoadBalancer", "HostPort"`,
		},
		"a load balancer needs no block": {
			base:   "proxygroup",
			accept: `spec: {expose: {type: LoadBalancer, nodePort: null}}`,
			reject: `spec: {expose: {loadBalancer: {}}}`,
			want:   "spec.expose: Invalid value: loadBalancer is forbidden with any type but LoadBalancer",
		},
		"an annotation of a Service has a key that one can have": {
			base:   "proxygroup",
			accept: `spec: {expose: {type: LoadBalancer, nodePort: null, loadBalancer: {annotations: {service.beta.kubernetes.io/aws-load-balancer-type: nlb}}}}`,
			reject: `spec: {expose: {type: LoadBalancer, nodePort: null, loadBalancer: {annotations: {"not a key": "1"}}}}`,
			want:   "spec.expose.loadBalancer.annotations: Invalid value: an annotation has a qualified name as its key, and a value of at most 1024 characters",
		},
		"an annotation of a Service is not one of ours": {
			base:   "proxygroup",
			accept: `spec: {expose: {type: LoadBalancer, nodePort: null, loadBalancer: {annotations: {metallb.io/address-pool: games}}}}`,
			reject: `spec: {expose: {type: LoadBalancer, nodePort: null, loadBalancer: {annotations: {spawnery.cloud/x: "1"}}}}`,
			want:   "spec.expose.loadBalancer.annotations: Invalid value: annotations of spawnery.cloud are not an owner's to set",
		},
		"a Service has few annotations": {
			base:   "proxygroup",
			accept: `spec: {expose: {type: LoadBalancer, nodePort: null, loadBalancer: {annotations: {` + manyAnnotations(32) + `}}}}`,
			reject: `spec: {expose: {type: LoadBalancer, nodePort: null, loadBalancer: {annotations: {` + manyAnnotations(33) + `}}}}`,
			want:   "spec.expose.loadBalancer.annotations: Too many: 33: must have at most 32 items",
		},
		"a load balancer's class is a qualified name": {
			base:   "proxygroup",
			accept: `spec: {expose: {type: LoadBalancer, nodePort: null, loadBalancer: {loadBalancerClass: example.org/fast}}}`,
			reject: `spec: {expose: {type: LoadBalancer, nodePort: null, loadBalancer: {loadBalancerClass: "fast one"}}}`,
			want:   "spec.expose.loadBalancer.loadBalancerClass: Invalid value: \"fast one\": spec.expose.loadBalancer.loadBalancerClass in body should match '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'",
		},
		"a load balancer's traffic policy is Local or Cluster": {
			base:   "proxygroup",
			accept: `spec: {expose: {type: LoadBalancer, nodePort: null, loadBalancer: {externalTrafficPolicy: Cluster}}}`,
			reject: `spec: {expose: {type: LoadBalancer, nodePort: null, loadBalancer: {externalTrafficPolicy: Somewhere}}}`,
			want:   `spec.expose.loadBalancer.externalTrafficPolicy: Unsupported value: "Somewhere": supported values: "Local", "Cluster"`,
		},
		"a port of nodes has its block": {
			base:   "proxygroup",
			accept: `spec: {expose: {type: HostPort, nodePort: null, hostPort: {port: 25565}}}`,
			reject: `spec: {expose: {type: HostPort, nodePort: null}}`,
			want:   "spec.expose: Invalid value: hostPort is required with type HostPort and forbidden with any other",
		},
		"a port of nodes is no other number": {
			base:   "proxygroup",
			accept: `spec: {expose: {type: HostPort, nodePort: null, hostPort: {port: 65535}}}`,
			reject: `spec: {expose: {type: HostPort, nodePort: null, hostPort: {port: 0}}}`,
			want:   "spec.expose.hostPort.port: Invalid value: 0: spec.expose.hostPort.port in body should be greater than or equal to 1",
		},
		"a port of nodes is a port": {
			base:   "proxygroup",
			accept: `spec: {expose: {type: HostPort, nodePort: null, hostPort: {port: 1}}}`,
			reject: `spec: {expose: {type: HostPort, nodePort: null, hostPort: {port: 65536}}}`,
			want:   "spec.expose.hostPort.port: Invalid value: 65536: spec.expose.hostPort.port in body should be less than or equal to 65535",
		},
		"a node port has its block": {
			base:   "proxygroup",
			accept: `spec: {expose: {nodePort: {port: 30000}}}`,
			reject: `spec: {expose: {nodePort: null}}`,
			want:   "spec.expose: Invalid value: nodePort is required with type NodePort and forbidden with any other",
		},
		"a node port has no other block": {
			base:   "proxygroup",
			accept: `spec: {expose: {nodePort: {port: 32767}}}`,
			reject: `spec: {expose: {clusterIP: {address: play.example.org}}}`,
			want:   "spec.expose: Invalid value: clusterIP is required with type ClusterIP and forbidden with any other",
		},
		"a cluster address has its block": {
			base:   "proxygroup",
			accept: `spec: {expose: {type: ClusterIP, nodePort: null, clusterIP: {address: "[2001:db8::1]:25565"}}}`,
			reject: `spec: {expose: {type: ClusterIP, nodePort: null}}`,
			want:   "spec.expose: Invalid value: clusterIP is required with type ClusterIP and forbidden with any other",
		},
		"a cluster address has no other block": {
			base:   "proxygroup",
			accept: `spec: {expose: {type: ClusterIP, nodePort: null, clusterIP: {address: "play.example.org:25566"}}}`,
			reject: `spec: {expose: {type: ClusterIP, clusterIP: {address: "play.example.org"}}}`,
			want:   "spec.expose: Invalid value: nodePort is required with type NodePort and forbidden with any other",
		},
		"an address is a host and perhaps a port": {
			base:   "proxygroup",
			accept: `spec: {expose: {type: ClusterIP, nodePort: null, clusterIP: {address: "192.0.2.7:25565"}}}`,
			reject: `spec: {expose: {type: ClusterIP, nodePort: null, clusterIP: {address: "tcp://play.example.org"}}}`,
			want:   `spec.expose.clusterIP.address: Invalid value: "tcp://play.example.org": spec.expose.clusterIP.address in body should match '^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9]([-.A-Za-z0-9]*[A-Za-z0-9])?)(:[1-9][0-9]{0,4})?$'`,
		},
		"an address is required": {
			base:   "proxygroup",
			accept: `spec: {expose: {type: ClusterIP, nodePort: null, clusterIP: {address: localhost}}}`,
			reject: `spec: {expose: {type: ClusterIP, nodePort: null, clusterIP: {}}}`,
			want:   "spec.expose.clusterIP.address: Required value",
		},
		"a node port is a port": {
			base:   "proxygroup",
			accept: `spec: {expose: {nodePort: {port: 65535}}}`,
			reject: `spec: {expose: {nodePort: {port: 0}}}`,
			want:   "spec.expose.nodePort.port: Invalid value: 0: spec.expose.nodePort.port in body should be greater than or equal to 1",
		},
		"a traffic policy is Local or Cluster": {
			base:   "proxygroup",
			accept: `spec: {expose: {nodePort: {externalTrafficPolicy: Cluster}}}`,
			reject: `spec: {expose: {nodePort: {externalTrafficPolicy: Somewhere}}}`,
			want:   `spec.expose.nodePort.externalTrafficPolicy: Unsupported value: "Somewhere": supported values: "Local", "Cluster"`,
		},
		"players can fall back somewhere": {
			base:   "proxygroup",
			accept: `spec: {routing: {fallbackGroups: [hub, limbo]}}`,
			reject: `spec: {routing: {fallbackGroups: []}}`,
			want:   "spec.routing.fallbackGroups: Invalid value: 0: spec.routing.fallbackGroups in body should have at least 1 items",
		},
		"a routing strategy is known": {
			base:   "proxygroup",
			accept: `spec: {routing: {strategy: Fill}}`,
			reject: `spec: {routing: {strategy: Random}}`,
			want:   `spec.routing.strategy: Unsupported value: "Random": supported values: "Spread", "Fill"`,
		},
		"players are held for some time or not at all": {
			base:   "proxygroup",
			accept: `spec: {routing: {holdSeconds: 0}}`,
			reject: `spec: {routing: {holdSeconds: -1}}`,
			want:   "spec.routing.holdSeconds: Invalid value: -1: spec.routing.holdSeconds in body should be greater than or equal to 0",
		},
		"the list shows a limit": {
			base:   "proxygroup",
			accept: `spec: {config: {motd: "<gold>Hello", playerLimit: 1}}`,
			reject: `spec: {config: {playerLimit: 0}}`,
			want:   "spec.config.playerLimit: Invalid value: 0: spec.config.playerLimit in body should be greater than or equal to 1",
		},
		"a proxy drains for at least a second": {
			base:   "proxygroup",
			accept: `spec: {drain: {timeoutSeconds: 1}}`,
			reject: `spec: {drain: {timeoutSeconds: 0}}`,
			want:   "spec.drain.timeoutSeconds: Invalid value: 0: spec.drain.timeoutSeconds in body should be greater than or equal to 1",
		},
	}
}

func groupTypeRows() map[string]admissionRow {
	return map[string]admissionRow{
		"a server group is named by a label of at most 40 characters": {
			base:   "ephemeral",
			accept: `metadata: {name: 4-wins}`,
			reject: `metadata: {name: a123456789-123456789-123456789-1234567890}`,
			want:   "<nil>: Invalid value: the name must be a DNS label of at most 40 characters",
		},
		"a server group is of a known type": {
			base:   "ephemeral",
			accept: `spec: {type: Ephemeral}`,
			reject: `spec: {type: Static, scaling: null}`,
			want:   `spec.type: Unsupported value: "Static": supported values: "Ephemeral", "Persistent"`,
		},
		"a server group says what it runs": {
			base:   "ephemeral",
			accept: `spec: {}`,
			reject: `spec: {networkRef: null, image: null, maxPlayers: null}`,
			want: "spec.image: Required value" + "\n" +
				"spec.maxPlayers: Required value" + "\n" +
				"spec.networkRef: Required value",
		},
		"an ephemeral group scales": {
			base:   "ephemeral",
			accept: `spec: {scaling: {scaleDownStabilizationSeconds: 0}}`,
			reject: `spec: {scaling: null}`,
			want:   "spec: Invalid value: scaling is required for type Ephemeral and forbidden for Persistent",
		},
		"a persistent group does not scale": {
			base:   "persistent",
			accept: `spec: {}`,
			reject: `spec: {scaling: {minReplicas: 1, maxReplicas: 1, spareSlots: 0}}`,
			want:   "spec: Invalid value: scaling is required for type Ephemeral and forbidden for Persistent",
		},
		"a persistent group has a number": {
			base:   "persistent",
			accept: `spec: {replicas: 0}`,
			reject: `spec: {replicas: null}`,
			want:   "spec: Invalid value: replicas is required for type Persistent and forbidden for Ephemeral",
		},
		"an ephemeral group has no number": {
			base:   "ephemeral",
			accept: `spec: {}`,
			reject: `spec: {replicas: 3}`,
			want:   "spec: Invalid value: replicas is required for type Persistent and forbidden for Ephemeral",
		},
		"a persistent group has storage": {
			base:   "persistent",
			accept: `spec: {storage: {storageClassName: null}}`,
			reject: `spec: {storage: null}`,
			want:   "spec: Invalid value: storage is required for type Persistent and forbidden for Ephemeral",
		},
		"an ephemeral group has no storage": {
			base:   "ephemeral",
			accept: `spec: {}`,
			reject: `spec: {storage: {size: 1Gi}}`,
			want:   "spec: Invalid value: storage is required for type Persistent and forbidden for Ephemeral",
		},
		"storage has a size": {
			base:   "persistent",
			accept: `spec: {storage: {size: 1}}`,
			reject: `spec: {storage: {size: null}}`,
			want:   "spec.storage.size: Required value",
		},
		"storage is not empty": {
			base:   "persistent",
			accept: `spec: {storage: {size: 1Mi}}`,
			reject: `spec: {storage: {size: "0"}}`,
			want:   `spec.storage.size: Invalid value: "0": size must be greater than zero`,
		},
		"a world can be written": {
			base:   "persistent",
			accept: `spec: {storage: {accessModes: [ReadWriteOncePod]}}`,
			reject: `spec: {storage: {accessModes: [ReadOnlyMany]}}`,
			want:   `spec.storage.accessModes[0]: Unsupported value: "ReadOnlyMany": supported values: "ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"`,
		},
	}
}

func updateStrategyRows() map[string]admissionRow {
	return map[string]admissionRow{
		"a persistent group has no update": {
			base:   "persistent",
			accept: `spec: {update: null}`,
			reject: `spec: {update: {maxUnavailable: 1}}`,
			want:   "spec: Invalid value: update is only allowed for type Ephemeral",
		},
		"an update has a known strategy": {
			base:   "ephemeral",
			accept: `spec: {update: {strategy: RollingUpdate, maxUnavailable: 2, maxStaleSeconds: 3600, minAvailable: 1}}`,
			reject: `spec: {update: {strategy: Recreate}}`,
			want:   `spec.update.strategy: Unsupported value: "Recreate": supported values: "RollingUpdate", "WhenEmpty"`,
		},
		"an update takes at least one server at a time": {
			base:   "ephemeral",
			accept: `spec: {update: {maxUnavailable: 1}}`,
			reject: `spec: {update: {maxUnavailable: 0}}`,
			want:   "spec.update.maxUnavailable: Invalid value: 0: spec.update.maxUnavailable in body should be greater than or equal to 1",
		},
		"an update forces nobody before it began": {
			base:   "ephemeral",
			accept: `spec: {update: {maxStaleSeconds: 0}}`,
			reject: `spec: {update: {maxStaleSeconds: -1}}`,
			want:   "spec.update.maxStaleSeconds: Invalid value: -1: spec.update.maxStaleSeconds in body should be greater than or equal to 0",
		},
		"an update that waits forces nobody": {
			base:   "ephemeral",
			accept: `spec: {update: {strategy: WhenEmpty}}`,
			reject: `spec: {update: {strategy: WhenEmpty, maxStaleSeconds: 1}}`,
			want:   "spec.update: Invalid value: maxStaleSeconds must be 0 with strategy WhenEmpty",
		},
		"an update leaves at least one server": {
			base:   "ephemeral",
			accept: `spec: {update: {minAvailable: 1}}`,
			reject: `spec: {update: {minAvailable: 0}}`,
			want:   "spec.update.minAvailable: Invalid value: 0: spec.update.minAvailable in body should be greater than or equal to 1",
		},
		"an update has a server to replace": {
			base:   "ephemeral",
			accept: `spec: {update: {minAvailable: 7}}`,
			reject: `spec: {update: {minAvailable: 8}}`,
			want:   "spec: Invalid value: update.minAvailable must be less than scaling.maxReplicas",
		},
	}
}

func groupNumberRows() map[string]admissionRow {
	return map[string]admissionRow{
		"a server lets somebody in": {
			base:   "ephemeral",
			accept: `spec: {maxPlayers: 1}`,
			reject: `spec: {maxPlayers: 0}`,
			want:   "spec.maxPlayers: Invalid value: 0: spec.maxPlayers in body should be greater than or equal to 1",
		},
		"a server has seats to play in": {
			base:   "ephemeral",
			accept: `spec: {playableSlots: 1}`,
			reject: `spec: {playableSlots: 0}`,
			want:   "spec.playableSlots: Invalid value: 0: spec.playableSlots in body should be greater than or equal to 1",
		},
		"playable seats are among the seats": {
			base:   "ephemeral",
			accept: `spec: {playableSlots: 50}`,
			reject: `spec: {playableSlots: 51}`,
			want:   "spec: Invalid value: playableSlots must not exceed maxPlayers",
		},
		"the least is not below nothing": {
			base:   "ephemeral",
			accept: `spec: {scaling: {minReplicas: 0, spareSlots: 0}}`,
			reject: `spec: {scaling: {minReplicas: -1}}`,
			want:   "spec.scaling.minReplicas: Invalid value: -1: spec.scaling.minReplicas in body should be greater than or equal to 0",
		},
		"the most is at least one": {
			base:   "ephemeral",
			accept: `spec: {scaling: {minReplicas: 0, maxReplicas: 1}}`,
			reject: `spec: {scaling: {minReplicas: 0, maxReplicas: 0}}`,
			want:   "spec.scaling.maxReplicas: Invalid value: 0: spec.scaling.maxReplicas in body should be greater than or equal to 1",
		},
		"the least is not above the most": {
			base:   "ephemeral",
			accept: `spec: {scaling: {minReplicas: 8}}`,
			reject: `spec: {scaling: {minReplicas: 9}}`,
			want:   "spec.scaling: Invalid value: minReplicas must not exceed maxReplicas",
		},
		"spare seats are not below nothing": {
			base:   "ephemeral",
			accept: `spec: {scaling: {spareSlots: 1000}}`,
			reject: `spec: {scaling: {spareSlots: -1}}`,
			want:   "spec.scaling.spareSlots: Invalid value: -1: spec.scaling.spareSlots in body should be greater than or equal to 0",
		},
		"scaling says all three numbers": {
			base:   "ephemeral",
			accept: `spec: {scaling: {minReplicas: 1, maxReplicas: 2, spareSlots: 3}}`,
			reject: `spec: {scaling: {minReplicas: null, maxReplicas: null, spareSlots: null}}`,
			want: "spec.scaling.maxReplicas: Required value" + "\n" +
				"spec.scaling.minReplicas: Required value" + "\n" +
				"spec.scaling.spareSlots: Required value",
		},
		"stabilisation is not below nothing": {
			base:   "ephemeral",
			accept: `spec: {scaling: {scaleDownStabilizationSeconds: 5}}`,
			reject: `spec: {scaling: {scaleDownStabilizationSeconds: -1}}`,
			want:   "spec.scaling.scaleDownStabilizationSeconds: Invalid value: -1: spec.scaling.scaleDownStabilizationSeconds in body should be greater than or equal to 0",
		},
		"consolidation is switched on or off": {
			base:   "ephemeral",
			accept: `spec: {scaling: {consolidation: Enabled}}`,
			reject: `spec: {scaling: {consolidation: Always}}`,
			want:   `spec.scaling.consolidation: Unsupported value: "Always": supported values: "Disabled", "Enabled"`,
		},
		"a persistent group's number is not below nothing": {
			base:   "persistent",
			accept: `spec: {replicas: 1000}`,
			reject: `spec: {replicas: -1}`,
			want:   "spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0",
		},
		"a server drains for at least a second": {
			base:   "ephemeral",
			accept: `spec: {drain: {timeoutSeconds: 1}}`,
			reject: `spec: {drain: {timeoutSeconds: 0}}`,
			want:   "spec.drain.timeoutSeconds: Invalid value: 0: spec.drain.timeoutSeconds in body should be greater than or equal to 1",
		},
		"a server may take a second to start": {
			base:   "ephemeral",
			accept: `spec: {startupDeadlineSeconds: 1}`,
			reject: `spec: {startupDeadlineSeconds: 0}`,
			want:   "spec.startupDeadlineSeconds: Invalid value: 0: spec.startupDeadlineSeconds in body should be greater than or equal to 1",
		},
		"a server may take a second to stop": {
			base:   "ephemeral",
			accept: `spec: {terminationGracePeriodSeconds: 1}`,
			reject: `spec: {terminationGracePeriodSeconds: 0}`,
			want:   "spec.terminationGracePeriodSeconds: Invalid value: 0: spec.terminationGracePeriodSeconds in body should be greater than or equal to 1",
		},
		"a failed server is kept for some time or not at all": {
			base:   "ephemeral",
			accept: `spec: {failedRetentionSeconds: 0}`,
			reject: `spec: {failedRetentionSeconds: -1}`,
			want:   "spec.failedRetentionSeconds: Invalid value: -1: spec.failedRetentionSeconds in body should be greater than or equal to 0",
		},
	}
}

func gameServerRows() map[string]admissionRow {
	return map[string]admissionRow{
		"a flavor is known": {
			base:   "ephemeral",
			accept: `spec: {server: {flavor: Custom}}`,
			reject: `spec: {server: {flavor: Bukkit}}`,
			want:   `spec.server.flavor: Unsupported value: "Bukkit": supported values: "Paper", "Vanilla", "Fabric", "Custom"`,
		},
		"a data directory is an absolute path": {
			base:   "ephemeral",
			accept: `spec: {server: {dataDir: /srv/minecraft}}`,
			reject: `spec: {server: {dataDir: data/}}`,
			want:   `spec.server.dataDir: Invalid value: "data/": spec.server.dataDir in body should match '^(/[^/:]+)+$'`,
		},
		"a data directory is not the operator's": {
			base:   "ephemeral",
			accept: `spec: {server: {dataDir: /spawnery-data}}`,
			reject: `spec: {server: {dataDir: /spawnery/data}}`,
			want:   `spec.server.dataDir: Invalid value: "/spawnery/data": /spawnery and everything below it belongs to the operator`,
		},
		"a data directory says where it is": {
			base:   "ephemeral",
			accept: `spec: {server: {dataDir: /srv/..data}}`,
			reject: `spec: {server: {dataDir: /srv/../spawnery}}`,
			want:   `spec.server.dataDir: Invalid value: "/srv/../spawnery": dataDir must not contain . or .. as a part`,
		},
		"a game's port is a port": {
			base:   "ephemeral",
			accept: `spec: {server: {port: 65535}}`,
			reject: `spec: {server: {port: 0}}`,
			want:   "spec.server.port: Invalid value: 0: spec.server.port in body should be greater than or equal to 1",
		},
		"a game's port is not the agent's": {
			base:   "ephemeral",
			accept: `spec: {server: {port: 9359}}`,
			reject: `spec: {server: {port: 9358}}`,
			want:   "spec.server.port: Invalid value: 9358: ports 9357 and 9358 belong to the operator's agent",
		},
		"a way of forwarding is known": {
			base:   "ephemeral",
			accept: `spec: {server: {forwarding: None}}`,
			reject: `spec: {server: {forwarding: Legacy}}`,
			want:   `spec.server.forwarding: Unsupported value: "Legacy": supported values: "Velocity", "None"`,
		},
		"vanilla knows no forwarding": {
			base:   "ephemeral",
			accept: `spec: {server: {flavor: Vanilla, forwarding: None}}`,
			reject: `spec: {server: {flavor: Vanilla}}`,
			want:   "spec.server: Invalid value: forwarding must be None with flavor Vanilla",
		},
		"a property is of bounded length": {
			base:   "ephemeral",
			accept: `spec: {server: {properties: {view-distance: "8", motd: ""}}}`,
			reject: `spec: {server: {properties: {a123456789b123456789c123456789d123456789e123456789f123456789-1234: "1"}}}`,
			want:   "spec.server.properties: Invalid value: a property has a key of at most 64 and a value of at most 1024 characters",
		},
		"the operator's own properties are refused": {
			base:   "ephemeral",
			accept: `spec: {server: {properties: {hide-online-players: "true"}}}`,
			reject: `spec: {server: {properties: {online-mode: "true"}}}`,
			want:   "spec.server.properties: Invalid value: server-port, server-ip, online-mode, max-players, enable-status, prevent-proxy-connections, accepts-transfers, network-compression-threshold and management-server-* belong to the operator",
		},
		"properties of the management protocol are refused": {
			base:   "ephemeral",
			accept: `spec: {server: {properties: {difficulty: hard}}}`,
			reject: `spec: {server: {properties: {management-server-port: "1"}}}`,
			want:   "spec.server.properties: Invalid value: server-port, server-ip, online-mode, max-players, enable-status, prevent-proxy-connections, accepts-transfers, network-compression-threshold and management-server-* belong to the operator",
		},
		"a user has a known policy": {
			base:   "ephemeral",
			accept: `spec: {server: {user: {policy: Namespace}}}`,
			reject: `spec: {server: {user: {policy: Root}}}`,
			want:   `spec.server.user.policy: Unsupported value: "Root": supported values: "Fixed", "Namespace"`,
		},
		"a user is either fixed or the namespace's": {
			base:   "ephemeral",
			accept: `spec: {server: {user: {uid: 1001, gid: 1001, fsGroup: 1001}}}`,
			reject: `spec: {server: {user: {policy: Namespace, uid: 1001}}}`,
			want:   "spec.server.user: Invalid value: uid, gid and fsGroup are only allowed with policy Fixed",
		},
		"a user is not root": {
			base:   "ephemeral",
			accept: `spec: {server: {user: {gid: 1}}}`,
			reject: `spec: {server: {user: {uid: 0, gid: 0, fsGroup: 0}}}`,
			want: "spec.server.user.fsGroup: Invalid value: 0: spec.server.user.fsGroup in body should be greater than or equal to 1" + "\n" +
				"spec.server.user.gid: Invalid value: 0: spec.server.user.gid in body should be greater than or equal to 1" + "\n" +
				"spec.server.user.uid: Invalid value: 0: spec.server.user.uid in body should be greater than or equal to 1",
		},
	}
}

func environmentRows() map[string]admissionRow {
	return map[string]admissionRow{
		"a variable is named": {
			base:   "ephemeral",
			accept: `spec: {env: [{name: MEMORY, value: 2G}]}`,
			reject: `spec: {env: [{name: 2G}]}`,
			want:   `spec.env[0].name: Invalid value: "2G": spec.env[0].name in body should match '^[A-Za-z_][A-Za-z0-9_.-]*$'`,
		},
		"a variable stands once": {
			base:   "ephemeral",
			accept: `spec: {env: [{name: A, value: ""}, {name: B}]}`,
			reject: `spec: {env: [{name: A}, {name: A}]}`,
			want:   `spec.env[1]: Duplicate value: {"name":"A"}`,
		},
		"the operator's variables are its own": {
			base:   "ephemeral",
			accept: `spec: {env: [{name: MY_SPAWNERY_PLUGIN}]}`,
			reject: `spec: {env: [{name: SPAWNERY_SERVER}]}`,
			want:   "spec.env[0]: Invalid value: names beginning SPAWNERY_ belong to the operator",
		},
		"the management protocol's variables are the agent's": {
			base:   "ephemeral",
			accept: `spec: {env: [{name: RCON_PASSWORD}]}`,
			reject: `spec: {env: [{name: MANAGEMENT_SERVER_SECRET}]}`,
			want:   "spec.env[0]: Invalid value: names beginning MANAGEMENT_SERVER_ belong to the operator: its agent uses the management protocol",
		},
		"a variable with a field of its own is refused": {
			base:   "ephemeral",
			accept: `spec: {env: [{name: TYPE, value: PAPER}]}`,
			reject: `spec: {env: [{name: ONLINE_MODE, value: "false"}]}`,
			want:   "spec.env[0]: Invalid value: ONLINE_MODE is not yours to set: use onlineMode of the Network",
		},
		"the secret of Fabric's mod is the operator's": {
			base:   "ephemeral",
			accept: `spec: {server: {flavor: Fabric, forwarding: None}, env: [{name: FABRIC_PROXY_SECRET, value: a}]}`,
			reject: `spec: {server: {flavor: Fabric}, env: [{name: FABRIC_PROXY_SECRET, value: a}]}`,
			want:   "spec: Invalid value: env names beginning FABRIC_PROXY_SECRET belong to the operator with flavor Fabric: use forwardingSecretRef of the Network",
		},
		"a value has one source": {
			base:   "ephemeral",
			accept: `spec: {env: [{name: A, valueFrom: {configMapKeyRef: {name: a, key: b}}}]}`,
			reject: `spec: {env: [{name: A, value: b, valueFrom: {secretKeyRef: {name: a, key: b}}}]}`,
			want:   "spec.env[0]: Invalid value: value and valueFrom exclude each other",
		},
		"a source is one of two": {
			base:   "ephemeral",
			accept: `spec: {env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: b}}}]}`,
			reject: `spec: {env: [{name: A, valueFrom: {}}]}`,
			want:   "spec.env[0].valueFrom: Invalid value: exactly one of secretKeyRef and configMapKeyRef is required",
		},
		"a source names a key": {
			base:   "ephemeral",
			accept: `spec: {env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: b}}}]}`,
			reject: `spec: {env: [{name: A, valueFrom: {secretKeyRef: {name: a}}}]}`,
			want:   "spec.env[0].valueFrom.secretKeyRef.key: Required value",
		},
		"an overlay names a ConfigMap": {
			base:   "ephemeral",
			accept: `spec: {configOverlay: [{configMap: {name: a}, items: [{key: a, path: a}]}]}`,
			reject: `spec: {configOverlay: [{items: [{key: a, path: a}]}]}`,
			want:   "spec.configOverlay[0].configMap: Required value",
		},
		"an overlay names files": {
			base:   "ephemeral",
			accept: `spec: {configOverlay: []}`,
			reject: `spec: {configOverlay: [{configMap: {name: a}, items: []}]}`,
			want:   "spec.configOverlay[0].items: Invalid value: 0: spec.configOverlay[0].items in body should have at least 1 items",
		},
		"an overlaid file comes from a key": {
			base:   "ephemeral",
			accept: `spec: {configOverlay: [{configMap: {name: a}, items: [{key: shop_1.yml, path: plugins/Shop/config.yml}]}]}`,
			reject: `spec: {configOverlay: [{configMap: {name: a}, items: [{key: plugins/shop.yml, path: plugins/Shop/config.yml}]}]}`,
			want:   `spec.configOverlay[0].items[0].key: Invalid value: "plugins/shop.yml": spec.configOverlay[0].items[0].key in body should match '^[-._a-zA-Z0-9]+$'`,
		},
		"an overlaid file lies in the data directory": {
			base:   "ephemeral",
			accept: `spec: {configOverlay: [{configMap: {name: a}, items: [{key: a, path: "config/My Mod.json"}]}]}`,
			reject: `spec: {configOverlay: [{configMap: {name: a}, items: [{key: a, path: /data/spigot.yml}]}]}`,
			want:   `spec.configOverlay[0].items[0].path: Invalid value: "/data/spigot.yml": spec.configOverlay[0].items[0].path in body should match '^[^/]+(/[^/]+)*$'`,
		},
		"an overlaid file says where it is": {
			base:   "ephemeral",
			accept: `spec: {configOverlay: [{configMap: {name: a}, items: [{key: a, path: ..a/b..c}]}]}`,
			reject: `spec: {configOverlay: [{configMap: {name: a}, items: [{key: a, path: plugins/../../etc/passwd}]}]}`,
			want:   `spec.configOverlay[0].items[0].path: Invalid value: "plugins/../../etc/passwd": path must not contain . or .. as a part`,
		},
		"the EULA is not accepted by an overlay": {
			base:   "ephemeral",
			accept: `spec: {configOverlay: [{configMap: {name: a}, items: [{key: a, path: docs/eula.txt}]}]}`,
			reject: `spec: {configOverlay: [{configMap: {name: a}, items: [{key: a, path: eula.txt}]}]}`,
			want:   `spec.configOverlay[0].items[0].path: Invalid value: "eula.txt": eula.txt belongs to the operator: use server.acceptEula`,
		},
		"the operator's own files are not overlaid": {
			base:   "ephemeral",
			accept: `spec: {configOverlay: [{configMap: {name: a}, items: [{key: a, path: plugins/spawnery-shop.yml}]}]}`,
			reject: `spec: {configOverlay: [{configMap: {name: a}, items: [{key: a, path: server.properties.spawnery-new}]}]}`,
			want:   `spec.configOverlay[0].items[0].path: Invalid value: "server.properties.spawnery-new": names with .spawnery- belong to the operator`,
		},
		"unknown keys are refused or allowed": {
			base:   "ephemeral",
			accept: `spec: {configOverlay: [{configMap: {name: a}, items: [{key: a, path: a, unknownKeys: Allow}]}]}`,
			reject: `spec: {configOverlay: [{configMap: {name: a}, items: [{key: a, path: a, unknownKeys: Ignore}]}]}`,
			want:   `spec.configOverlay[0].items[0].unknownKeys: Unsupported value: "Ignore": supported values: "Refuse", "Allow"`,
		},
		"a variable of an overlay is one of env": {
			base:   "ephemeral",
			accept: `spec: {server: {overlayEnv: [DB]}, env: [{name: A}, {name: DB, valueFrom: {secretKeyRef: {name: a, key: b}}}]}`,
			reject: `spec: {server: {overlayEnv: [DB]}, env: [{name: A}]}`,
			want:   "spec: Invalid value: server.overlayEnv must name variables of env",
		},
		"a mount has an absolute path": {
			base:   "ephemeral",
			accept: `spec: {mounts: [{mountPath: /data/plugins/ranks, configMap: {name: ranks}}]}`,
			reject: `spec: {mounts: [{mountPath: plugins/, configMap: {name: ranks}}]}`,
			want:   `spec.mounts[0].mountPath: Invalid value: "plugins/": spec.mounts[0].mountPath in body should match '^(/[^/:]+)+$'`,
		},
		"a mount has one source": {
			base:   "ephemeral",
			accept: `spec: {mounts: [{mountPath: /etc/keys, secret: {name: keys}}]}`,
			reject: `spec: {mounts: [{mountPath: /etc/keys, secret: {name: keys}, configMap: {name: keys}}]}`,
			want:   "spec.mounts[0]: Invalid value: exactly one of secret and configMap is required",
		},
		"a mount has a source": {
			base:   "ephemeral",
			accept: `spec: {mounts: [{mountPath: /data/ops.json, subPath: ops.json, configMap: {name: ops}}]}`,
			reject: `spec: {mounts: [{mountPath: /data/ops.json}]}`,
			want:   "spec.mounts[0]: Invalid value: exactly one of secret and configMap is required",
		},
		"a mounted file is named by a key": {
			base:   "ephemeral",
			accept: `spec: {mounts: [{mountPath: /data/ops.json, subPath: ops_1.json, secret: {name: ops}}]}`,
			reject: `spec: {mounts: [{mountPath: /data/ops.json, subPath: ../ops.json, secret: {name: ops}}]}`,
			want:   `spec.mounts[0].subPath: Invalid value: "../ops.json": spec.mounts[0].subPath in body should match '^[-._a-zA-Z0-9]+$'`,
		},
		"a path is mounted once": {
			base:   "ephemeral",
			accept: `spec: {mounts: [{mountPath: /a1, secret: {name: a}}, {mountPath: /a2, secret: {name: a}}]}`,
			reject: `spec: {mounts: [{mountPath: /a1, secret: {name: a}}, {mountPath: /a1, secret: {name: b}}]}`,
			want:   `spec.mounts[1]: Duplicate value: {"mountPath":"/a1"}`,
		},
		"the operator's directory is its own": {
			base:   "ephemeral",
			accept: `spec: {mounts: [{mountPath: /spawnery2, secret: {name: a}}]}`,
			reject: `spec: {mounts: [{mountPath: /spawnery/agent, secret: {name: a}}]}`,
			want:   "spec.mounts[0]: Invalid value: /spawnery and everything below it belongs to the operator",
		},
		"a mount says where it is": {
			base:   "ephemeral",
			accept: `spec: {mounts: [{mountPath: /data/.config, secret: {name: a}}]}`,
			reject: `spec: {mounts: [{mountPath: /data/../spawnery, secret: {name: a}}]}`,
			want:   "spec.mounts[0]: Invalid value: mountPath must not contain . or .. as a part",
		},
		"a mount does not cover the data": {
			base:   "ephemeral",
			accept: `spec: {mounts: [{mountPath: /data2, secret: {name: a}}]}`,
			reject: `spec: {mounts: [{mountPath: /data, secret: {name: a}}]}`,
			want:   "spec: Invalid value: a mount must not cover server.dataDir",
		},
		"a mount does not cover what the data is in": {
			base:   "ephemeral",
			accept: `spec: {server: {dataDir: /srv/data}, mounts: [{mountPath: /srv/dat, secret: {name: a}}]}`,
			reject: `spec: {server: {dataDir: /srv/data}, mounts: [{mountPath: /srv, secret: {name: a}}]}`,
			want:   "spec: Invalid value: a mount must not cover server.dataDir",
		},
	}
}

func serverRows() map[string]admissionRow {
	return map[string]admissionRow{
		"a server names its group and network": {
			base:   "server",
			accept: `spec: {ordinal: 0, groupGeneration: 1, podHash: abc}`,
			reject: `spec: {groupRef: null, networkRef: null}`,
			want: "spec.groupRef: Required value" + "\n" +
				"spec.networkRef: Required value",
		},
		"an ordinal is not below nothing": {
			base:   "server",
			accept: `spec: {ordinal: 999}`,
			reject: `spec: {ordinal: -1}`,
			want:   "spec.ordinal: Invalid value: -1: spec.ordinal in body should be greater than or equal to 0",
		},
		"a generation is not below nothing": {
			base:   "server",
			accept: `spec: {groupGeneration: 0}`,
			reject: `spec: {groupGeneration: -1}`,
			want:   "spec.groupGeneration: Invalid value: -1: spec.groupGeneration in body should be greater than or equal to 0",
		},
		"a reason to retire is known": {
			base:   "server",
			accept: `spec: {retireReason: NodeDraining}`,
			reject: `spec: {retireReason: Tired}`,
			want:   `spec.retireReason: Unsupported value: "Tired": supported values: "Changeover", "Pin", "Consolidation", "Requested", "NodeDraining"`,
		},
	}
}

func boostRows() map[string]admissionRow {
	return map[string]admissionRow{
		"a boost adds something": {
			base:   "boost",
			accept: `spec: {replicas: 1}`,
			reject: `spec: {replicas: 0}`,
			want:   "spec: Invalid value: replicas must be at least 1 with mode Add",
		},
		"a pin may be to no server": {
			base:   "boost",
			accept: `spec: {mode: Exact, replicas: 0}`,
			reject: `spec: {mode: Exact, replicas: -1}`,
			want:   "spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0",
		},
		"a pin is to a number": {
			base:   "boost",
			accept: `spec: {mode: Exact, replicas: 9}`,
			reject: `spec: {mode: Exact, replicas: null}`,
			want:   "spec.replicas: Required value",
		},
		"a boost is of a known mode": {
			base:   "boost",
			accept: `spec: {mode: Add}`,
			reject: `spec: {mode: Most}`,
			want:   `spec.mode: Unsupported value: "Most": supported values: "Add", "Exact"`,
		},
		"a boost names its group": {
			base:   "boost",
			accept: `spec: {groupRef: {name: other}}`,
			reject: `spec: {groupRef: null, replicas: null}`,
			want: "spec.groupRef: Required value" + "\n" +
				"spec.replicas: Required value",
		},
		"a boost ends at an instant": {
			base:   "boost",
			accept: `spec: {expiresAt: "2026-09-19T23:00:00Z"}`,
			reject: `spec: {expiresAt: "next friday"}`,
			want:   `spec.expiresAt: Invalid value: "next friday": spec.expiresAt in body must be of type date-time: "next friday"`,
		},
	}
}
