// SPDX-License-Identifier: Apache-2.0

/**
 * What a plugin may ask of Spawnery about the server it runs in. It needs Java
 * 17 and nothing else: {@link cloud.spawnery.api.Spawnery#api()} is all there
 * is to begin with.
 */
package cloud.spawnery.api;
