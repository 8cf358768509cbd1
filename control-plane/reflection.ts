import type { Server, ServiceDefinition, UntypedHandleCall, UntypedServiceImplementation } from "@grpc/grpc-js";
import { loadSync, type PackageDefinition } from "@grpc/proto-loader";
import { ReflectionService } from "@grpc/reflection";

interface ReflectedService {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

/** Adds gRPC reflection of proto files of a folder. They are read at the first question of a client, because that takes a part of a second. */
export function addReflection(server: Server, { files, folder }: { files: string[]; folder: string }): void {
  let known: ReflectedService[] | undefined;
  const reflected = () => {
    known ??= servicesOf(new ReflectionService(allFiles(loadSync(files, { includeDirs: [folder] }))));
    return known;
  };
  for (const [position, { definition }] of servicesOf(new ReflectionService({})).entries()) {
    const handlers = Object.keys(definition).map((name) => [name, later(() => reflected()[position]?.implementation[name])]);
    server.addService(definition, Object.fromEntries(handlers) as UntypedServiceImplementation);
  }
}

/** One definition of a message: each has the descriptors of all files, and the library decodes all of them for every definition that it gets. */
function allFiles(definitions: PackageDefinition): PackageDefinition {
  return Object.fromEntries(
    Object.entries(definitions)
      .filter(([, definition]) => "fileDescriptorProtos" in definition)
      .slice(0, 1),
  );
}

/** A handler that is made at its first call. */
function later(handler: () => UntypedHandleCall | undefined): UntypedHandleCall {
  return ((...call: unknown[]) => (handler() as (...call: unknown[]) => void)(...call)) as UntypedHandleCall;
}

/** The services that a library would add to a server. */
function servicesOf(reflection: ReflectionService): ReflectedService[] {
  const services: ReflectedService[] = [];
  const server = {
    addService: (definition: ServiceDefinition, implementation: UntypedServiceImplementation) =>
      void services.push({ definition, implementation }),
  };
  reflection.addToServer(server as unknown as Server);
  return services;
}
