import { Wallet } from 'ethers'
import * as viem from 'viem'

/*
 * The adapters' tests run with the newest viem and ethers, and with the oldest supported versions.
 * Statements about viem and ethers themselves hold for the newest. With old versions, hexline is
 * compared with `http()` and `JsonRpcProvider` of the same version.
 */

/**
 * It limits response sizes, accepts abort signals, and keeps a node's error if the status is not
 * 2xx.
 */
export const isNewViem = 'ResponseBodyTooLargeError' in viem

/** It signs authorizations. */
export const isNewEthers = 'authorize' in Wallet.prototype
