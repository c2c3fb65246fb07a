import { Wallet } from 'ethers'
import * as viem from 'viem'

/*
 * The adapters' tests run with the newest viem and ethers, and with the oldest that are supported. What the tests state of the peers
 * themselves holds for the newest. Over old ones hexline is compared with `http()` and `JsonRpcProvider` of the same version.
 */

/** It bounds a response, takes an abort signal, and keeps a node's error under a status that is no 2xx. */
export const isNewViem = 'ResponseBodyTooLargeError' in viem

/** It signs authorizations. */
export const isNewEthers = 'authorize' in Wallet.prototype
