// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"google.golang.org/protobuf/proto"
	"k8s.io/utils/ptr"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// settingsOf is what a proxy of the group is told; it takes effect without a new
// pod.
func settingsOf(group *v1alpha1.ProxyGroup, network *v1alpha1.Network) *agentv1alpha1.ProxySettings {
	settings := &agentv1alpha1.ProxySettings{
		Network:            network.Name,
		OnlineMode:         ptr.Deref(network.Status.OnlineMode, true),
		FallbackGroups:     group.Spec.Routing.FallbackGroups,
		Strategy:           strategyOf(group.Spec.Routing.Strategy),
		HoldSeconds:        ptr.Deref(group.Spec.Routing.HoldSeconds, 0),
		Motd:               group.Spec.Config.MOTD,
		PlayerLimit:        group.Spec.Config.PlayerLimit,
		EnforcePlayerLimit: ptr.Deref(group.Spec.Config.EnforcePlayerLimit, false),
		MaxHeld:            maxHeldOf(group),
		DrainSeconds:       podspec.ProxyDrainSeconds(group),
		RateLimits:         ratesOf(&group.Spec.Config.RateLimits),
		FaviconKey:         group.Spec.Config.Favicon.Key,
		FallbackLocale:     group.Spec.Config.Messages.FallbackLocale,
	}
	if settings.Motd == "" {
		settings.Motd = network.Name
	}
	if trusted := group.Spec.Config.ProxyProtocol.TrustedCIDRs; len(trusted) > 0 {
		settings.ProxyProtocol = &agentv1alpha1.ProxyProtocol{TrustedCidrs: trusted}
	}
	settings.Commands = commandsOf(group)
	if address := group.Spec.Update.TransferAddress; address != "" || podspec.ProxyTransfer(group) == v1alpha1.TransferEnabled {
		settings.Transfer = &agentv1alpha1.Transfer{
			Address:         address,
			WithdrawSeconds: ptr.Deref(group.Spec.Update.WithdrawSeconds, v1alpha1.DefaultWithdrawSeconds),
		}
	}
	for _, forced := range group.Spec.Routing.ForcedHosts {
		settings.ForcedHosts = append(settings.ForcedHosts, &agentv1alpha1.ForcedHost{Host: forced.Host, Groups: forced.Groups})
	}
	for _, grant := range network.Spec.Permissions {
		settings.Permissions = append(settings.Permissions, &agentv1alpha1.PermissionGroup{
			Name:              grant.Name,
			TrustOfflineNames: ptr.Deref(grant.TrustOfflineNames, false),
			Players:           grant.Players,
			Permissions:       grant.Permissions,
			Inherits:          grant.Inherits,
		})
	}
	return settings
}

// commandsOf leaves the names to the proxy where the API server set none.
func commandsOf(group *v1alpha1.ProxyGroup) *agentv1alpha1.Commands {
	if group.Spec.Config.Commands == nil {
		return nil
	}
	taken := &agentv1alpha1.Commands{}
	for _, name := range group.Spec.Config.Commands {
		taken.Names = append(taken.Names, string(name))
	}
	return taken
}

// maxHeldOf leaves the number to the proxy where the API server set none.
func maxHeldOf(group *v1alpha1.ProxyGroup) *int32 {
	if group.Spec.Config.MaxHeld == 0 {
		return nil
	}
	return new(group.Spec.Config.MaxHeld)
}

func strategyOf(strategy v1alpha1.RoutingStrategy) agentv1alpha1.RoutingStrategy {
	switch strategy {
	case v1alpha1.RoutingFill:
		return agentv1alpha1.RoutingStrategy_ROUTING_STRATEGY_FILL
	case v1alpha1.RoutingSpread:
	}
	return agentv1alpha1.RoutingStrategy_ROUTING_STRATEGY_SPREAD
}

// ratesOf leaves every number to the proxy that the API server set none for.
func ratesOf(limits *v1alpha1.RateLimits) *agentv1alpha1.RateLimits {
	rates := &agentv1alpha1.RateLimits{
		LoginsPerSecond: limits.LoginsPerSecond,
		LoginBurst:      limits.LoginBurst,
		StatusPerSecond: limits.StatusPerSecond,
		StatusBurst:     limits.StatusBurst,
		ExemptCidrs:     limits.ExemptCIDRs,
	}
	if proto.Equal(rates, &agentv1alpha1.RateLimits{}) {
		return nil
	}
	return rates
}
