/**
 * Methods without a row in a table that only read, by namespace, each by its name: they may run
 * twice. Any other method is taken to change something. Left out on purpose: `engine_getPayload`
 * ends the building of the payload, `bor_getVoteOnHash` votes, `debug_standardTraceBlockToFile`
 * writes a file, `evm_snapshot` makes a snapshot, `eth_getEncryptionPublicKey` asks a person.
 */
const reads: Readonly<Record<string, string>> = {
  // https://geth.ethereum.org/docs/interacting-with-geth/rpc,
  // https://besu.hyperledger.org/public-networks/reference/api, https://docs.bnbchain.org,
  // https://github.com/ethereum/ERCs (4337), https://docs.flashbots.net
  eth: `callBundle callMany coinbase estimateUserOperationGas getAccount getAccountInfo getBlobSidecarByTxHash getBlobSidecars getBlockAccessListByBlockHash
    getBlockAccessListByBlockNumber getBlockReceiptsByBlockHash getCompilers getFinalizedBlock getFinalizedHeader getHeaderByHash getHeaderByNumber
    getMinerDataByBlockHash getMinerDataByBlockNumber getRawTransactionByBlockHashAndIndex getRawTransactionByBlockNumberAndIndex getRawTransactionByHash
    getRootHash getTransactionBySenderAndNonce getTransactionReceiptsByBlock getTransactionsByBlockNumber getUserOperationByHash getUserOperationReceipt
    getWork hashrate mining pendingTransactions protocolVersion supportedEntryPoints`,
  // Nodes: geth, Besu, Nethermind (https://docs.nethermind.io/interacting), reth
  // (https://reth.rs/jsonrpc/intro), Erigon (https://docs.erigon.tech)
  net: 'enode localAddress localEnode peerCount services',
  web3: 'sha3',
  rpc: 'discover methods',
  txpool: 'besuPendingTransactions besuStatistics besuTransactions',
  trace: 'blockOpcodeGas rawTransaction transactionOpcodeGas',
  debug: `accountAt accountRange chainConfig chaindbProperty codeByHash dbAncient dbAncients dbGet dumpBlock executePayload executionWitness
    executionWitnessByBlockHash gcStats getAccessibleState getBadBlocks getBlockAccessList getBlockRlp getBlockRlpByHash getChainLevel getConfigValue
    getHeaderRlp getModifiedAccountsByHash getModifiedAccountsByNumber getRawTransactions getSyncStage getTrieFlushInterval intermediateRoots memStats
    metrics preimage printBlock seedHash stacks stateRootWithUpdates storageRangeAt traceBadBlock traceBlock traceBlockFromFile traceChain
    traceTransactionByBlockAndIndex traceTransactionByBlockhashAndIndex traceTransactionInBlockByHash traceTransactionInBlockByIndex`,
  admin: 'datadir nodeInfo peers',
  miner: 'getExtraData getHashrate getMinGasPrice getMinPriorityFee',
  clique: 'getSigner getSigners getSignersAtHash getSnapshot getSnapshotAtHash proposals status',
  ibft: 'getPendingVotes getSignerMetrics getValidatorsByBlockHash getValidatorsByBlockNumber',
  qbft: 'getPendingVotes getSignerMetrics getValidatorsByBlockHash getValidatorsByBlockNumber',
  personal: 'ecRecover listAccounts listWallets',
  // https://github.com/ethereum/execution-apis/tree/main/src/engine
  engine: `exchangeCapabilities getBlobsV1 getBlobsV2 getBlobsV3 getClientVersionV1 getPayloadBodiesByHashV1 getPayloadBodiesByHashV2 getPayloadBodiesByRangeV1
    getPayloadBodiesByRangeV2`,
  parity: `accountsInfo allTransactionHashes allTransactions call chain chainStatus defaultAccount defaultExtraData enode extraData futureTransactions gasCeilTarget
    gasFloorTarget gasPriceHistogram getBlockHeaderByNumber getBlockReceipts listAccounts listStorageKeys localTransactions minGasPrice mode netChain netPeers
    netPort nextNonce nodeKind nodeName pendingTransactions pendingTransactionsStats registryAddress releasesInfo rpcSettings transactionsLimit verifySignature
    versionInfo`,
  erigon: `blockNumber cacheCheck cumulativeChainTraffic forks getBalanceChangesInBlock getBlockByTimestamp getBlockReceiptsByBlockHash getHeaderByHash
    getHeaderByNumber getLatestLogs getLogs getLogsByHash nodeInfo watchTheBurn`,
  // https://docs.otterscan.io/api-docs/ots-api
  ots: `getApiLevel getBlockDetails getBlockDetailsByHash getBlockTransactions getContractCreator getHeaderByNumber getInternalOperations
    getTransactionBySenderAndNonce getTransactionError hasCode searchTransactionsAfter searchTransactionsBefore traceTransaction`,

  // Chains: Polygon, Arbitrum
  // (https://docs.arbitrum.io/build-decentralized-apps/arbitrum-vs-ethereum/rpc-methods), OP Stack
  // (https://docs.optimism.io), ZKsync (https://docs.zksync.io), Linea (https://docs.linea.build),
  // Scroll, Polygon zkEVM
  bor: `getAuthor getCurrentProposer getCurrentValidators getRootHash getSigners getSignersAtHash getSnapshot getSnapshotAtHash getSnapshotProposer
    getSnapshotProposerSequence`,
  arb: `checkPublisherHealth findBatchContainingBlock getL1Confirmations getMinRequiredNitroVersion getRawBlockMetadata latestValidated maintenanceStatus`,
  arbtrace: 'block call callMany filter get rawTransaction replayBlockTransactions replayTransaction transaction',
  optimism: 'outputAtBlock rollupConfig safeHeadAtL1Block syncStatus version',
  zks: `L1BatchNumber L1ChainId estimateFee estimateGasL1ToL2 gasPerPubdata getAllAccountBalances getBaseTokenL1Address getBatchFeeInput getBlockDetails
    getBridgeContracts getBridgehubContract getBytecodeByHash getConfirmedTokens getFeeParams getL1BatchBlockRange getL1BatchDetails getL1GasPrice
    getL2Multicall3 getL2ToL1LogProof getL2ToL1MsgProof getMainContract getProof getProtocolVersion getRawBlockTransactions getTestnetPaymaster
    getTimestampAsserter getTokenPrice getTransactionDetails`,
  linea: 'estimateGas getProof getTransactionExclusionStatusV1',
  scroll: 'estimateL1DataFee getBlockByHash getBlockByNumber syncStatus',
  zkevm: `batchNumber batchNumberByBlockNumber consolidatedBlockNumber estimateCounters estimateFee estimateGasPrice getBatchByNumber getExitRootsByGER getForkId
    getFullBlockByHash getFullBlockByNumber getLatestGlobalExitRoot getNativeBlockHashesInRange isBlockConsolidated isBlockVirtualized verifiedBatchNumber
    virtualBatchNumber`,

  // Providers: https://www.alchemy.com/docs, https://www.quicknode.com/docs,
  // https://www.ankr.com/docs, https://docs.tenderly.co
  alchemy: `getAssetTransfers getTokenAllowance getTokenBalances getTokenMetadata getTransactionReceipts simulateAssetChanges simulateAssetChangesBundle
    simulateExecution simulateExecutionBundle`,
  qn: `fetchNFTCollectionDetails fetchNFTs fetchNFTsByCollection getBlockFromTimestamp getBlockWithReceipts getBlocksInTimestampRange getReceipts
    getTokenMetadataByContractAddress getTokenMetadataBySymbol getTransactionsByAddress getTransfersByNFT getWalletTokenBalance getWalletTokenTransactions
    verifyNFTsOwner`,
  ankr: `getAccountBalance getBlockchainStats getBlocks getCurrencies getInteractions getLogs getNFTHolders getNFTMetadata getNFTTransfers getNFTsByOwner
    getTokenHolders getTokenHoldersCount getTokenPrice getTokenPriceHistory getTokenTransfers getTransactionsByAddress getTransactionsByHash`,
  tenderly: `decodeError decodeEvent decodeInput errorSignatures estimateGas estimateGasBundle eventSignature functionSignatures gasPrice getContractAbi
    getStorageChanges getTransactionRange getTransactionsByAddress simulateBundle simulateTransaction suggestGasFees traceTransaction`,

  // Nodes for tests: https://getfoundry.sh/anvil/reference,
  // https://hardhat.org/hardhat-network/docs/reference
  anvil: `dumpState getAutomine getBlobByHash getBlobSidecarsByBlockId getBlobsByTransactionHash getGenesisTime getIntervalMining metadata nodeInfo`,
  hardhat: 'getAutomine getStackTraceFailuresCount metadata',

  // Wallets and paymasters: EIP-5792, EIP-2255, EIP-7811, ERC-7677
  wallet: 'getAssets getCallsStatus getCapabilities getPermissions',
  pm: 'getPaymasterData getPaymasterStubData supportedEntryPoints',
}

const names: ReadonlySet<string> = new Set(Object.entries(reads).flatMap(([namespace, list]) => list.split(/\s+/).map((name) => `${namespace}_${name}`)))

/** True for a method without a row that only reads. */
export function isOtherRead(method: string): boolean {
  return names.has(method)
}
