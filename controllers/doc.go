// SPDX-License-Identifier: Apache-2.0

// Package controllers is the only code that talks to the API server. Each kind
// has a package of its own below this one, with the markers of what it may do;
// the markers here are what the manager itself may do.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
//
// Names decide in the manager's own namespace, so that the rules stay harmless
// where a package manager turns this Role into a ClusterRole.
//
// +kubebuilder:rbac:groups="",namespace=spawnery-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",namespace=spawnery-system,resources=secrets,resourceNames=spawnery-manager-tls,verbs=get;update;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=spawnery-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=spawnery-system,resources=leases,resourceNames=spawnery-manager,verbs=get;update;patch
package controllers
