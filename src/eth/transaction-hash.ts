/** The hash of a transaction of a block, which lists transactions or only their hashes. */
export function hashOfTransaction<H extends string>(transaction: H | { readonly hash: H }): H {
  return typeof transaction === 'string' ? transaction : transaction.hash
}
