/** Who issues statements, as the operator has configured it. */
export interface Issuer {
  name: string | undefined
  /** The lines of the address. */
  address: string[]
  taxNumber: string | undefined
  /** An image as a data URL. */
  logo: string | undefined
}
