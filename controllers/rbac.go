// SPDX-License-Identifier: Apache-2.0

package controllers

// What the kinds' own packages may do, in one place.
//
// +kubebuilder:rbac:groups=spawnery.cloud,resources=networks;proxygroups;servergroups;scaleboosts,verbs=get;list;watch
// +kubebuilder:rbac:groups=spawnery.cloud,resources=servers,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=spawnery.cloud,resources=networks/status;proxygroups/status;servergroups/status;servers/status,verbs=get;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=create;get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=create
// +kubebuilder:rbac:groups="",resources=serviceaccounts,resourceNames=spawnery-server;spawnery-proxy,verbs=get
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=spawnery-channel,verbs=get;patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch
