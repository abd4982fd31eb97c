/** Limits that more than one part of the contract states. */

export const imageBytesMax = 20 * 1024 * 1024
