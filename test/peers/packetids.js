// SPDX-License-Identifier: Apache-2.0
//
// Prints the packet ids of published data of the game as JSON, by protocol,
// state and direction, to compare our own table with.

'use strict'

const minecraftData = require('minecraft-data')

const versions = ['1.20.6', '1.21.1', '1.21.3', '1.21.4', '1.21.5', '1.21.6', '1.21.8', '1.21.9', '1.21.11', '26.1']

const all = {}
for (const version of versions) {
  const data = minecraftData(version)
  const ids = all[data.version.version] = {}
  for (const state of ['configuration', 'play']) {
    for (const direction of ['toClient', 'toServer']) {
      const mappings = data.protocol[state][direction].types.packet[1][0].type[1].mappings
      ids[`${state}.${direction}`] = Object.fromEntries(Object.entries(mappings).map(([id, name]) => [name, Number(id)]))
    }
  }
}
console.log(JSON.stringify(all))
