/** Limits that several parts of the contract share. */

export const mebibyte = 1_048_576
export const gibibyte = 1024 * mebibyte

export const imageBytesMax = 20 * mebibyte
