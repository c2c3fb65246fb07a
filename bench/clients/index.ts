import type { ClientName } from '../workloads.ts'
import { ethers, ethersOnHexline } from './ethers.ts'
import { hexline, hexlineAudits, hexlineRate } from './hexline.ts'
import { ox } from './ox.ts'
import { subsquid } from './subsquid.ts'
import { undiciBytes, undiciParse } from './undici.ts'
import { viemBatched, viemOnHexline, viemPlain } from './viem.ts'
import type { Ways } from './way.ts'
import { web3 } from './web3.ts'

/** The workloads of each client. Its library is loaded only when it is used. */
export const clients: Readonly<Record<ClientName, Ways>> = {
  'undici, bytes only': undiciBytes,
  'undici + JSON.parse': undiciParse,
  hexline,
  'hexline, told the rate': hexlineRate,
  'hexline, audit none': hexlineAudits.none,
  'hexline, audit bloom': hexlineAudits.bloom,
  'hexline, audit receipts': hexlineAudits.receipts,
  'hexline, audit peer': hexlineAudits.peer,
  'viem on hexline': viemOnHexline,
  'ethers on hexline': ethersOnHexline,
  'viem, batched': viemBatched,
  'viem, not batched': viemPlain,
  ethers,
  web3,
  '@subsquid/rpc-client': subsquid,
  ox,
}
