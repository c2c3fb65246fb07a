/*
 * A program that takes one block of `follow` and abandons the stream, and then has nothing more to
 * do. Argument: the node's URL.
 */

import { createClient } from '../../src/index.ts'
import { follow } from '../../src/index-bulk.ts'

const client = createClient(process.argv[2] ?? '')
const { value } = await follow(client, { from: 0 })[Symbol.asyncIterator]().next()
console.log(value?.type)
