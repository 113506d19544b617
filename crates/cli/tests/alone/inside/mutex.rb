# HTTP server with a thread per connection. Each request sleeps under one Mutex. Argument: the port.
require 'socket'

LOCK = Mutex.new

server = TCPServer.new('127.0.0.1', ARGV[0].to_i)
server.listen(128)
loop do
  Thread.new(server.accept) do |client|
    while client.gets
      nil until (line = client.gets).nil? || line == "\r\n"
      LOCK.synchronize { sleep 0.005 }
      client.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ndone\n")
    end
  rescue SystemCallError
    nil
  ensure
    client.close
  end
end
