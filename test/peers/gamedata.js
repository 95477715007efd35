// SPDX-License-Identifier: Apache-2.0
//
// Writes what a server sends while a player joins, one file per protocol, for
// the server double: node gamedata.js ../../internal/mctest/gamedata

'use strict'

const fs = require('fs')
const path = require('path')
const zlib = require('zlib')
const minecraftData = require('minecraft-data')
const mc = require('minecraft-protocol')

const versions = ['1.20.6', '1.21.1', '1.21.3', '1.21.4', '1.21.5', '1.21.6', '1.21.8', '1.21.9', '1.21.11', '26.1']

function serializer (state, version) {
  const s = mc.createSerializer({ state, isServer: true, version })
  // The first byte is the packet id, which the protocol table knows.
  return (name, params) => s.createPacketBuffer({ name, params }).subarray(1).toString('hex')
}

function position (protocol) {
  const where = { x: 0.5, y: 64, z: 0.5, yaw: 0, pitch: 0, teleportId: 1 }
  return protocol < 768 ? { ...where, flags: 0 } : { ...where, dx: 0, dy: 0, dz: 0, flags: {} }
}

// tags names some biomes: indices into the registry in the order it is sent.
function tags (registries) {
  const biomes = registries['minecraft:worldgen/biome'].entries.map(e => e.key)
  const indices = names => names.map(n => biomes.indexOf('minecraft:' + n)).filter(i => i >= 0)
  return {
    tags: [{
      tagType: 'minecraft:worldgen/biome',
      tags: [
        { tagName: 'minecraft:is_beach', entries: indices(['beach', 'snowy_beach']) },
        { tagName: 'minecraft:is_river', entries: indices(['river', 'frozen_river']) }
      ]
    }]
  }
}

function collect (version) {
  const data = minecraftData(version)
  const protocol = data.version.version
  const configuration = serializer('configuration', version)
  const play = serializer('play', version)
  const registries = data.loginPacket.dimensionCodec
  return {
    protocol,
    packs: [{ namespace: 'minecraft', id: 'core', version }],
    features: configuration('feature_flags', { features: ['minecraft:vanilla'] }),
    registries: Object.values(registries).map(({ id, entries }) => ({
      id,
      full: configuration('registry_data', { id, entries }),
      known: configuration('registry_data', { id, entries: entries.map(({ key }) => ({ key })) })
    })),
    tags: configuration('tags', tags(registries)),
    login: play('login', { ...data.loginPacket, entityId: 1 }),
    position: play('position', position(protocol))
  }
}

const directory = process.argv[2]
for (const version of versions) {
  const game = collect(version)
  const file = path.join(directory, `${game.protocol}.json.gz`)
  fs.writeFileSync(file, zlib.gzipSync(JSON.stringify(game), { level: 9 }))
  console.log(`${file}: ${version}, ${game.registries.length} registries, ${fs.statSync(file).size} bytes`)
}
