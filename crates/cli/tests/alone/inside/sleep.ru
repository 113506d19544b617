run lambda { |_| sleep 0.02; [200, { "content-type" => "text/plain" }, ["done\n"]] }
