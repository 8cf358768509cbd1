/** Id of a trained model's deployment. It contains the version, so that every usage row names the version that answered. */
export function deploymentName({ modelId, version, node }: { modelId: string; version: number; node: number }): string {
  return node === 0 ? `${modelId}@${version}` : `${modelId}@${version}.${node}`;
}

/** The model whose prices apply to a deployment: the trained model for its deployments, otherwise the deployment itself. */
export function pricedModelOf(deploymentId: string): string {
  return deploymentId.split("@", 1)[0] ?? deploymentId;
}
