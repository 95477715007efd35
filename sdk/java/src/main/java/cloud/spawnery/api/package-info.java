// SPDX-License-Identifier: Apache-2.0

/**
 * What a plugin may ask of Spawnery: how its server stands and how many seats of
 * it count, which groups and servers the network has, more servers for a while,
 * the move of a player to another server, and the retirement of its own. It
 * needs Java 17 and nothing else: {@link cloud.spawnery.api.Spawnery#api()} is
 * all there is to begin with.
 */
package cloud.spawnery.api;
