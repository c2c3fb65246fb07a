// What a bundler for browsers gets in place of each entry point: no module has this name, so the
// build fails with the sentence.
// @ts-expect-error: as said
export * from 'hexline runs on Node.js, not in a browser or an edge worker: use http() of viem there'
