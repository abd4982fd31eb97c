/** The settings that let tens of thousands of clients wait at one API process. */
export const manyClients = {
  LIMIT_CONNECTIONS: '30000',
  LIMIT_CONNECTIONS_PER_ADDRESS: '30000',
  LIMIT_REQUESTS_IN_FLIGHT: 'address=30000,key=30000,account=30000,total=30000',
}
